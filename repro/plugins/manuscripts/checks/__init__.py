"""The checks of a manuscript. Each yields findings, or nothing if it does not apply."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from repro.plugins.manuscripts.source_tables import Place

SEVERITIES = ("error", "doubt", "note")
# check -> its description
CHECKS = {
    "average": "an average that its cells cannot give under any rounding",
    "sum": "a sum that its cells cannot give under any rounding",
    "delta": "a difference that does not fit its two numbers",
    "bold": "a bold number that is not the best",
    "underline": "an underlined number that is not the second best",
    "mark": "a mark of significance on a number that is not better",
    "decimals": "a number with an unusual number of decimals for its column",
    "unit": "a percentage among fractions, or a fraction among percentages",
    "range": "a value that its measure cannot have",
    "cut-off": "a larger value at a smaller cutoff, e.g. R@100 above R@1000",
    "queries": "a mean that is impossible with this number of queries",
    "depth": "a measure at another cutoff than the collection's own",
    "two-values": "one system with two values of one measure on one collection",
    "published": "a value of a known system that nobody published",
    "prose": "a sentence that misquotes a table",
    "shade": "a shaded number that is not the best",
    "significance": "a claim of significance without a test, against its p-value or on few queries",
    "spread": "a standard deviation above its mean",
    "claim": "a claim to be better or best that the tables refute",
    "unread": "a cell, row or table that was not read",
    "ignore": "a comment that suppresses nothing or names no check",
}


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
