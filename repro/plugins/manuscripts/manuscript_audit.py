"""The command ``repro audit FILE``, e.g. ``repro audit paper.tex --format sarif``."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import click

from repro.cli.options import format_option
from repro.cli.printing import emit_json, put, say
from repro.errors import unknown, visible
from repro.plugins.manuscripts.checks import (
    CHECKS,
    SEVERITIES,
    Finding,
    across,
    arithmetic,
    claims,
    emphasis,
    in_order,
    quotes,
    significance,
    unread,
    values,
)
from repro.plugins.manuscripts.checks.systems import Systems
from repro.plugins.manuscripts.files import decoded
from repro.plugins.manuscripts.series import Grid, grids
from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceTable
from repro.version import __version__

_COMMENT = re.compile(r"(%|#|<!--)\s*repro:\s*ignore(?:\[(?P<checks>[^\]\n]*)\])?")


@dataclass(frozen=True)
class Ignored:
    """A comment ``repro: ignore[check, …] reason`` with the lines and checks that it applies to."""

    place: Place
    lines: tuple[int, ...]
    checks: tuple[str, ...]

    def is_about(self, finding: Finding) -> bool:
        """Return whether the comment suppresses a finding."""
        place = finding.place
        return finding.check in self.checks and place.file == self.place.file and place.line in self.lines


def ignores(file: Path) -> Iterator[Ignored]:
    """Yield the comments of a file. A comment alone on its line applies to the next other line."""
    lines = decoded(file.read_bytes(), file).split("\n")  # same lines as in tables
    comments = {number: match for number, line in enumerate(lines, 1) if (match := _COMMENT.search(line))}
    alone = {number for number, match in comments.items() if not match.string[: match.start()].strip()}
    for number, match in comments.items():
        below = next((n for n in range(number, len(lines) + 1) if n not in alone), number)
        names = map(str.strip, (match["checks"] or "").split(","))
        yield Ignored(Place(file, number), (number, below), tuple(filter(None, names)))


def without_ignored(findings: Iterable[Finding], files: Iterable[Path]) -> list[Finding]:
    """Return the findings that no comment suppresses, and a finding for each useless comment."""
    kept, on_comments = list(findings), list[Finding]()
    for comment in (comment for file in files for comment in ignores(file)):
        suppressed = list(filter(comment.is_about, kept))
        kept = [finding for finding in kept if finding not in suppressed]
        on_comments += _of_comment(comment, {finding.check for finding in suppressed})
    return in_order([*kept, *on_comments])


def _of_comment(comment: Ignored, used: set[str]) -> Iterator[Finding]:
    def note(says: str, why: str) -> Finding:
        return Finding("note", "ignore", comment.place, says, why)

    if not comment.checks:
        yield note("The comment names no check", "Write `repro: ignore[CHECK]` and a reason")
    for name in comment.checks:
        if name not in CHECKS:
            yield note(str(unknown("check", name, CHECKS)), "The comment suppresses nothing")
        elif name not in used:
            yield note(f"The comment suppresses no finding of {name}", "This line has none")


BOTH_WAYS = (arithmetic.totals, arithmetic.in_series, arithmetic.in_groups, arithmetic.from_line)
BY_SYSTEMS = (
    arithmetic.behind_values,
    emphasis.impossible,
    values.decimals,
    values.out_of_range,
    values.falling,
    values.impossible_means,
    values.undefined_depths,
    values.below_first,
    significance.large_spreads,
    significance.fewer_datasets,
)
SENTENCES = (claims.wrong_numbers, claims.wrong_differences, claims.wrong_claims)
ACROSS = (
    emphasis.best,
    emphasis.second_best,
    emphasis.shaded,
    across.several_values,
    across.swapped_systems,
    across.unpublished,
)


def findings(manuscript: Manuscript) -> list[Finding]:
    """Return all findings by file and line, including suppressed ones."""
    tables = [_with_definitions(table, manuscript) for table in manuscript.tables]
    pairs = [grids(table) for table in tables]
    of_units = [each for by_system, _ in pairs for each in values.mixed_units(by_system)]
    odd = [value.cell for value, _ in of_units]
    by_systems = [by_system.without(odd) for by_system, _ in pairs]
    turned = [grid.without(odd) for _, grid in pairs]
    all_findings = [finding for _, finding in of_units]
    for check, grid in (*product(BOTH_WAYS, (*by_systems, *turned)), *product(BY_SYSTEMS, by_systems)):
        all_findings += check(grid)
    for check_of_all in ACROSS:
        all_findings += check_of_all(by_systems)
    all_findings += significance.undefined_marks(by_systems, manuscript.prose)
    all_findings += significance.untested(manuscript)
    for place, text in significance.texts(manuscript):
        for sentence in quotes.END.split(text):
            all_findings += significance.refuted(place, sentence)
    all_findings += [*unread.lost(manuscript), *unread.cells(manuscript.tables)]
    return in_order([*all_findings, *of_sentences(manuscript, by_systems)])


def _with_definitions(table: SourceTable, manuscript: Manuscript) -> SourceTable:
    """Return a table with the sentences of the text that define marks of significance as notes."""
    split = (sentence for _, text in manuscript.prose for sentence in quotes.END.split(text))
    marks = [each for each in split if emphasis.DEFINES.search(each) and "signific" in each.lower()]
    return replace(table, legend=(*table.legend, *marks))


def of_sentences(manuscript: Manuscript, by_systems: Sequence[Grid]) -> Iterator[Finding]:
    """Yield the findings on sentences, one for each, the most specific check first."""
    tables = quotes.numbered(manuscript, by_systems)
    systems = Systems.of(manuscript, tables)
    for place, sentence in quotes.sentences(manuscript):
        found = list(quotes.wrong_quotes(place, sentence, tables))
        for check in SENTENCES if not found else ():
            found += check(place, sentence, systems)
        yield from found


def audit(manuscript: Manuscript) -> list[Finding]:
    """Return the findings that no comment suppresses, and a finding for each useless comment."""
    places = [cell.place for table in manuscript.tables for row in (*table.head, *table.body) for cell in row]
    places += [place for place, _ in manuscript.prose]
    files = dict.fromkeys(place.file for place in places)
    return without_ignored(findings(manuscript), [file for file in files if file.is_file()])


@dataclass(frozen=True)
class Audited:
    """A source and its findings, with counts for the summary.

    Attributes:
        cells: the numbers that were read from the bodies of tables.
        looked_at: check -> numbers, columns or sentences that it could judge.
    """

    manuscript: Manuscript
    findings: list[Finding]
    cells: int = 0


def audited(path: Path, *, is_known_compared: bool = True) -> Audited:
    """Read and audit a source."""
    from repro.plugins.manuscripts.reading import read

    manuscript = read(path)
    return Audited(manuscript, audit(manuscript))


SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "doubt": "warning", "note": "note"}


def print_lines(findings: Sequence[Finding]) -> None:
    """Print ``file:line: severity [check] text``."""
    for f in findings:
        put(f"{f.place}: {f.severity} [{f.check}] {f.text}")


def sarif(findings: Sequence[Finding]) -> dict:
    """Return a SARIF 2.1.0 log with one run. A doubt is a warning, and paths are relative."""
    from urllib.parse import quote

    rules = [{"id": check, "shortDescription": {"text": what}} for check, what in CHECKS.items()]
    driver = {"name": "repro audit", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": f.check,
            "ruleIndex": list(CHECKS).index(f.check),
            "level": LEVELS[f.severity],
            "message": {"text": visible(f.text)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        }
        for f in findings
        for uri, region in [(quote(os.fsencode(f.place.file)), {"startLine": f.place.line})]
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF, "version": "2.1.0", "runs": [run]}


def print_commands(findings: Sequence[Finding]) -> None:
    """Print workflow commands for GitHub, e.g. ``::error file=a%0Ab.tex,line=7::``."""
    for f in findings:
        file, title = (_escaped(text, ":,") for text in (str(f.place.file), f"repro audit: {f.check}"))
        place = f"file={file},line={f.place.line},title={title}"
        print(f"::{LEVELS[f.severity].replace('note', 'notice')} {place}::{_escaped(f.text)}")


def _escaped(text: str, more: str = "") -> str:
    signs = (f"%{ord(sign):02X}" if sign in f"%\r\n{more}" else sign for sign in text)
    return visible("".join(signs))


WRITERS: dict[str, Callable[[Sequence[Finding]], None]] = {
    "terminal": print_lines,
    "json": lambda found: emit_json([finding.as_json() for finding in found]),
    "sarif": lambda found: emit_json(sarif(found)),
    "github": print_commands,
}


@click.command(
    "file",
    epilog="""\b
Examples:
  repro audit paper.tex
  repro audit arxiv-source/ --strict
  repro audit paper.tex --format github
  repro audit results.csv --format sarif > findings.sarif""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are errors or doubts.")
@format_option("json", "sarif", "github")
def file_command(file, strict, form):
    """List inconsistencies in the tables of a paper's source and in sentences that quote them.

    FILE is LaTeX, Markdown, CSV or HTML, or the folder or archive of a paper's source. An error contradicts
    arithmetic, a doubt breaks a habit of its table, a note is worth a look. `% repro: ignore[CHECK] reason`
    on the line or above it hides a finding (`<!-- ... -->` in Markdown and HTML, `#` in CSV).
    """
    from repro.plugins.manuscripts.reading import read

    manuscript = read(file)
    findings = audit(manuscript)
    WRITERS[form](findings)
    for note in manuscript.notes:
        say(note)
    numbers = Counter(finding.severity for finding in findings)
    counts = [f"{numbers[name]} {name}{'s' * (numbers[name] != 1)}" for name in SEVERITIES]
    number = len(manuscript.tables)
    say(f"{number} table{'s' * (number != 1)}: {', '.join(counts)}")
    return int(strict and numbers.total() > numbers["note"])
