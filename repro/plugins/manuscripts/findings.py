"""What does not fit in a manuscript, a line each, and the comments of its author that set a finding aside."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from repro.errors import unknown
from repro.plugins.manuscripts.files import decoded
from repro.plugins.manuscripts.tables import Place

SEVERITIES = ("error", "doubt", "note")
# check -> what it finds, for whoever reads a finding in another program
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
    """Something that does not fit.

    Attributes:
        severity: error (arithmetic cannot be otherwise), doubt (one of two must be wrong, or a habit of the
            table is broken), note (worth a look; often nobody's mistake).
        check: a key of ``CHECKS``.
        place: the line that is to be looked at first.
        says: what does not fit; ``why``: what it is held against.
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
        line = {"severity": self.severity, "check": self.check}
        return line | {
            "file": str(self.place.file),
            "line": self.place.line,
            "says": self.says,
            "why": self.why,
        }


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return each finding once, by file, line and severity."""
    once = dict.fromkeys(findings)
    return sorted(
        once, key=lambda f: (f.place.file, f.place.line, SEVERITIES.index(f.severity), f.check, f.says)
    )


_COMMENT = re.compile(r"(%|#|<!--)\s*repro:\s*ignore(?:\[(?P<checks>[^\]\n]*)\])?")


@dataclass(frozen=True)
class Ignored:
    """A comment ``repro: ignore[check, …] reason``: the line it stands on, those it is about, its checks."""

    place: Place
    lines: tuple[int, ...]
    checks: tuple[str, ...]

    def is_about(self, finding: Finding) -> bool:
        """Return whether the comment sets a finding aside."""
        place = finding.place
        return finding.check in self.checks and place.file == self.place.file and place.line in self.lines


def ignores(file: Path) -> Iterator[Ignored]:
    """Yield the comments of a file; one alone on its line is about the next line that is no such comment."""
    lines = decoded(file.read_bytes(), file).split("\n")  # as the tables' lines are counted
    comments = {number: match for number, line in enumerate(lines, 1) if (match := _COMMENT.search(line))}
    alone = {number for number, match in comments.items() if not match.string[: match.start()].strip()}
    for number, match in comments.items():
        below = next((n for n in range(number, len(lines) + 1) if n not in alone), number)
        names = map(str.strip, (match["checks"] or "").split(","))
        yield Ignored(Place(file, number), (number, below), tuple(filter(None, names)))


def without_ignored(findings: Iterable[Finding], files: Iterable[Path]) -> list[Finding]:
    """Return the findings that no comment sets aside, and one for each comment that sets nothing aside."""
    kept, told = list(findings), list[Finding]()
    for comment in (comment for file in files for comment in ignores(file)):
        aside = list(filter(comment.is_about, kept))
        kept = [finding for finding in kept if finding not in aside]
        told += _of_comment(comment, {finding.check for finding in aside})
    return in_order([*kept, *told])


def _of_comment(comment: Ignored, used: set[str]) -> Iterator[Finding]:
    note = Finding(
        "note", "ignore", comment.place, "this comment sets nothing aside", "no check has fault here"
    )
    if not comment.checks:
        says = "this comment names no check"
        yield replace(note, says=says, why="write repro: ignore[check] and the reason")
    for name in comment.checks:
        if name not in CHECKS:
            yield replace(note, says=str(unknown("check", name, CHECKS)), why="nothing is set aside by it")
        elif name not in used:
            yield replace(
                note, says=f"nothing of {name} is set aside here", why="no such finding on this line"
            )
