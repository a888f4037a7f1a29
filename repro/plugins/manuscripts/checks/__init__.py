"""The checks of a manuscript. Each yields findings, or nothing if it does not apply."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.machine.bounded_reading import read_facts
from repro.plugins.manuscripts.source_tables import Place

SEVERITIES = ("error", "doubt", "note")
CHECKS: dict[str, str] = read_facts(Path(__file__).with_name("checks.yaml"))


@dataclass(frozen=True)
class Finding:
    """An inconsistency, e.g. ``Finding("error", "sum", place, "12 is not the sum of …", "It is 13")``.

    ``severity`` is error (arithmetically impossible), doubt (one of two numbers is wrong, or a habit of the
    table is broken) or note (often no mistake).
    """

    severity: str
    check: str
    place: Place
    says: str
    why: str

    def __post_init__(self) -> None:
        assert self.severity in SEVERITIES and self.check in CHECKS, self

    @property
    def text(self) -> str:
        return f"{self.says}. {self.why}."

    def as_json(self) -> dict:
        place = {"file": str(self.place.file), "line": self.place.line}
        return {"severity": self.severity, "check": self.check, **place, "says": self.says, "why": self.why}


Findings = Iterator[Finding]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    once, rank = dict.fromkeys(findings), SEVERITIES.index
    return sorted(once, key=lambda f: (f.place.file, f.place.line, rank(f.severity), f.check, f.says))


WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
)
NUMERALS = "|".join(WORDS)


def numeral(text: str | None) -> int | None:
    if not text:
        return None
    digits = text.replace(",", "")
    if digits.isdigit():
        return int(digits)
    return WORDS.index(text.lower()) if text.lower() in WORDS else None
