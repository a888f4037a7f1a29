"""The checks of a manuscript. Each yields findings, or nothing if it does not apply."""

from collections.abc import Iterable
from dataclasses import dataclass

from repro.plugins.manuscripts.source_tables import Place

SEVERITIES = ("error", "doubt", "note")
# check -> its description, for other programs
CHECKS = {
    "average": "an average that its cells do not give, however they were rounded",
    "sum": "a sum that its cells do not give, however they were rounded",
    "delta": "a difference that is not that of the two numbers it is between",
    "bold": "a bold number that is not the best, where bold marks the best",
    "underline": "an underlined number that is not the second best, where underlines mark it",
    "mark": "a mark of significance over a row whose number is as good or better",
    "decimals": "a number with other digits after the point than its column",
    "unit": "a percentage among fractions, or a fraction among percentages",
    "range": "a value that its measure cannot have",
    "cut-off": "more found in fewer ranks: R@100 above R@1000 in one row",
    "queries": "a mean that so many queries cannot have",
    "depth": "a measure at another depth than the one its collection defines",
    "two-values": "one system with two values of one measure on one collection",
    "published": "a value of a known system that nobody published",
    "prose": "a sentence that quotes a table wrongly",
    "ignore": "a comment that sets nothing aside, or no check that there is",
}


@dataclass(frozen=True)
class Finding:
    """An inconsistency, e.g. ``Finding("error", "sum", place, "12 is not the sum of …", "It is 13")``.

    Attributes:
        severity: error (arithmetically impossible), doubt (one of two must be wrong, or a rule of the
            table is
            broken) or note (useful, often no mistake).
        check: a key of ``CHECKS``.
        place: the line to look at first.
        says, why: the inconsistency and the evidence, each a sentence without its full stop.
    """

    severity: str
    check: str
    place: Place
    says: str
    why: str

    def __post_init__(self) -> None:
        assert self.severity in SEVERITIES and self.check in CHECKS, self

    def as_json(self) -> dict:
        """Return plain values."""
        place = {"file": str(self.place.file), "line": self.place.line}
        return {"severity": self.severity, "check": self.check, **place, "says": self.says, "why": self.why}


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return each finding once, by file, line and severity."""
    once, rank = dict.fromkeys(findings), SEVERITIES.index
    return sorted(once, key=lambda f: (f.place.file, f.place.line, rank(f.severity), f.check, f.says))
