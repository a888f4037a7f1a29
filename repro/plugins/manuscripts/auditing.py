"""The audit of a source: all checks, and the comments that suppress findings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
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
from repro.plugins.manuscripts.series import Grid, Series, Value, grids
from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceTable
from repro.plugins.manuscripts.text_tables import MARKDOWN, read_tables

_COMMENT = re.compile(r"(%|#|<!--)\s*repro:\s*ignore(?:\[(?P<checks>[^\]\n]*)\])?")


@dataclass(frozen=True)
class Ignored:
    """A comment ``repro: ignore[check, …] reason``, with the lines and checks that it applies to."""

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
SENTENCES = (claims.wrong_numbers, claims.wrong_differences, claims.wrong_order, claims.wrong_claims)
ACROSS = (emphasis.best, emphasis.second_best, emphasis.shaded, across.several_values, across.unpublished)


def findings(manuscript: Manuscript, readme: Manuscript | None = None) -> list[Finding]:
    """Return all findings by file and line, including suppressed ones. A README adds numbers that differ."""
    tables = [_with_definitions(table, manuscript) for table in manuscript.tables]
    pairs = list(map(grids, tables))
    impossible = list(values.impossible(grid for grid, _ in pairs))
    odd = [value.cell for value, _ in impossible]
    by_systems, turned = ([pair[way].without(odd) for pair in pairs] for way in (0, 1))
    found = [finding for _, finding in impossible]
    for check, grid in (*product(BOTH_WAYS, (*by_systems, *turned)), *product(BY_SYSTEMS, by_systems)):
        found += check(grid)
    found += chain.from_iterable(check(by_systems) for check in ACROSS)
    found += significance.undefined_marks(by_systems, manuscript.prose)
    found += significance.of_texts(manuscript)
    found += [*values.lost_parts(manuscript), *values.unread_cells(manuscript.tables)]
    if readme:
        found += _of_readme(manuscript, by_systems, readme)
    return in_order([*found, *of_sentences(manuscript, by_systems)])


def _of_readme(manuscript: Manuscript, by_systems: Sequence[Grid], readme: Manuscript) -> Iterator[Finding]:
    others = [grids(table)[0] for table in readme.tables]
    for pair in product(by_systems, others):
        yield from across.several_values(pair)
    yield from of_sentences(replace(manuscript, prose=readme.prose), by_systems)


def _with_definitions(table: SourceTable, manuscript: Manuscript) -> SourceTable:
    """Add the sentences that define marks of significance to the notes of a table."""
    sentences = (sentence for _, sentence in quotes.sentences(manuscript))
    marks = [each for each in sentences if emphasis.DEFINES.search(each) and "signific" in each.lower()]
    return replace(table, legend=(*table.legend, *marks))


def of_sentences(manuscript: Manuscript, by_systems: Sequence[Grid]) -> Iterator[Finding]:
    """Yield the findings on sentences, one for each, the most specific check first."""
    tables = quotes.numbered(manuscript, by_systems)
    systems = quotes.Systems.of(manuscript, tables)
    for place, paragraph in manuscript.prose:
        sentences = quotes.END.split(paragraph)
        for number, sentence in enumerate(sentences):
            found = list(quotes.wrong_quotes(place, sentence, tables))
            for check in SENTENCES if not found else ():
                found += check(place, sentence, replace(systems, before=tuple(sentences[:number])))
            yield from found


def audit(manuscript: Manuscript, readme: Manuscript | None = None) -> list[Finding]:
    """Return the findings that no comment suppresses, and a finding for each useless comment."""
    places = [cell.place for table in manuscript.tables for row in (*table.head, *table.body) for cell in row]
    places += [place for place, _ in manuscript.prose]
    files = dict.fromkeys(place.file for place in places)
    return without_ignored(findings(manuscript, readme), filter(Path.is_file, files))


@dataclass(frozen=True)
class Audited:
    """A source and its findings. ``cells`` counts the numbers in tables, ``looked_at`` the checked parts by
    name."""

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
    values = [(series, value) for grid in by_systems for series in grid.series for value in series]
    unread = sum(finding.check == "unread" for finding in found)
    return Audited(manuscript, found, len(values), unread, _looked_at(manuscript, values))


def _looked_at(manuscript: Manuscript, values: Sequence[tuple[Series, Value]]) -> dict[str, int]:
    sentences = (text for _, text in quotes.sentences(manuscript))
    return {
        "averages and sums": sum(bool(series.total) for series, _ in values),
        "differences": sum(s.is_difference + (value.delta is not None) for s, value in values),
        "columns with bold, underlined or shaded numbers": len({s for s, v in values if v.cell.is_styled}),
        "marked numbers": sum(bool(value.cell.marks) for _, value in values),
        "sentences with numbers": sum(re.search(quotes.NUMBER, text) is not None for text in sentences),
    }


def _readme(path: Path, manuscript: Manuscript) -> Manuscript | None:
    file = (path if path.is_dir() else path.parent) / "README.md"
    is_latex = all(table.place.file.suffix not in MARKDOWN for table in manuscript.tables)
    if not is_latex or not file.is_file() or file == path or (path.is_file() and path.suffix != ".tex"):
        return None
    tables, prose, _ = read_tables(Files(file), file.name)
    return Manuscript(file, tuple(tables), tuple(prose))
