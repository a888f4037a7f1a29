"""The audit of a source: all checks, and the comments that suppress findings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from repro.errors import unknown
from repro.plugins.manuscripts.checks import (
    CHECKS,
    Finding,
    across,
    arithmetic,
    claims,
    emphasis,
    in_order,
    quotes,
    significance,
    values,
)
from repro.plugins.manuscripts.files import Files, decoded
from repro.plugins.manuscripts.series import Grid, grids
from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceTable
from repro.plugins.manuscripts.text_tables import MARKDOWN, read_tables

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
    across.unpublished,
)


def findings(manuscript: Manuscript, readme: Manuscript | None = None) -> list[Finding]:
    """Return all findings by file and line, including suppressed ones. Those of a README are on numbers that
    differ from the source."""
    tables = [_with_definitions(table, manuscript) for table in manuscript.tables]
    pairs = [grids(table) for table in tables]
    impossible = [each for by_system, _ in pairs for each in values.mixed_units(by_system)]
    impossible += [each for by_system, _ in pairs for each in values.out_of_range(by_system)]
    odd = [value.cell for value, _ in impossible]
    by_systems = [by_system.without(odd) for by_system, _ in pairs]
    turned = [grid.without(odd) for _, grid in pairs]
    all_findings = [finding for _, finding in impossible]
    for check, grid in (*product(BOTH_WAYS, (*by_systems, *turned)), *product(BY_SYSTEMS, by_systems)):
        all_findings += check(grid)
    for check_of_all in ACROSS:
        all_findings += check_of_all(by_systems)
    all_findings += significance.undefined_marks(by_systems, manuscript.prose)
    all_findings += significance.untested(manuscript)
    for place, text in significance.texts(manuscript):
        for sentence in quotes.END.split(text):
            all_findings += significance.refuted(place, sentence)
    all_findings += [*values.lost_parts(manuscript), *values.unread_cells(manuscript.tables)]
    if readme:
        all_findings += _of_readme(manuscript, by_systems, readme)
    return in_order([*all_findings, *of_sentences(manuscript, by_systems)])


def _of_readme(manuscript: Manuscript, by_systems: Sequence[Grid], readme: Manuscript) -> Iterator[Finding]:
    others = [grids(table)[0] for table in readme.tables]
    for grid in by_systems:
        for other in others:
            yield from across.several_values([grid, other])
    yield from of_sentences(replace(manuscript, prose=readme.prose), by_systems)


def _with_definitions(table: SourceTable, manuscript: Manuscript) -> SourceTable:
    """Return a table with the sentences of the text that define marks of significance as notes."""
    split = (sentence for _, text in manuscript.prose for sentence in quotes.END.split(text))
    marks = [each for each in split if emphasis.DEFINES.search(each) and "signific" in each.lower()]
    return replace(table, legend=(*table.legend, *marks))


def of_sentences(manuscript: Manuscript, by_systems: Sequence[Grid]) -> Iterator[Finding]:
    """Yield the findings on sentences, one for each, the most specific check first."""
    tables = quotes.numbered(manuscript, by_systems)
    systems = quotes.Systems.of(manuscript, tables)
    for place, sentence in quotes.sentences(manuscript):
        found = list(quotes.wrong_quotes(place, sentence, tables))
        for check in SENTENCES if not found else ():
            found += check(place, sentence, systems)
        yield from found


def audit(manuscript: Manuscript, readme: Manuscript | None = None) -> list[Finding]:
    """Return the findings that no comment suppresses, and a finding for each useless comment."""
    places = [cell.place for table in manuscript.tables for row in (*table.head, *table.body) for cell in row]
    places += [place for place, _ in manuscript.prose]
    files = dict.fromkeys(place.file for place in places)
    return without_ignored(findings(manuscript, readme), [file for file in files if file.is_file()])


@dataclass(frozen=True)
class Audited:
    """A source and its findings, with counts for the summary.

    Attributes:
        cells: the numbers that were read from the bodies of tables.
        unread: the cells and parts of tables that were not read.
        looked_at: name -> the number of averages, differences, sentences etc. that were checked.
    """

    manuscript: Manuscript
    findings: list[Finding]
    cells: int = 0
    unread: int = 0
    looked_at: dict[str, int] = field(default_factory=dict)


def audited(path: Path, *, is_known_compared: bool = True) -> Audited:
    """Read and audit a source, with the README.md beside LaTeX. Raises DataError if it is unreadable."""
    from repro.plugins.manuscripts.reading import read

    manuscript = read(path)
    found = audit(manuscript, _readme(path, manuscript))
    if not is_known_compared:
        found = [finding for finding in found if finding.check != "published"]
    by_systems = [grids(table)[0] for table in manuscript.tables]
    values = [(s, v) for grid in by_systems for s in grid.series for v in s.values.values()]
    unread = sum(finding.check == "unread" for finding in found)
    return Audited(manuscript, found, len(values), unread, _looked_at(manuscript, by_systems))


def _looked_at(manuscript: Manuscript, by_systems: Sequence[Grid]) -> dict[str, int]:
    series = [each for grid in by_systems for each in grid.series]
    values = [value for each in series for value in each.values.values()]
    styled = [
        any(v.cell.bold or v.cell.underlined or v.cell.shade for v in s.values.values()) for s in series
    ]
    sentences = (text for _, text in quotes.sentences(manuscript))
    return {
        "averages and sums": sum(len(each.values) for each in series if each.total),
        "differences": sum(len(each.values) for each in series if each.is_difference)
        + sum(value.delta is not None for value in values),
        "columns with bold, underlined or shaded numbers": sum(styled),
        "marked numbers": sum(bool(value.cell.marks) for value in values),
        "sentences with numbers": sum(re.search(quotes.NUMBER, text) is not None for text in sentences),
    }


def _readme(path: Path, manuscript: Manuscript) -> Manuscript | None:
    """Return the README.md beside a LaTeX source, or None."""
    file = (path if path.is_dir() else path.parent) / "README.md"
    is_latex = all(table.place.file.suffix not in MARKDOWN for table in manuscript.tables)
    if not is_latex or not file.is_file() or file == path or (path.is_file() and path.suffix != ".tex"):
        return None
    tables, prose, _ = read_tables(Files(file), file.name)
    return Manuscript(file, tuple(tables), tuple(prose))
