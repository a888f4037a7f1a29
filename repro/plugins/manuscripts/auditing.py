"""The audit of a source: its checks, comments that suppress findings, and ``repro audit FILE``."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse, product
from pathlib import Path
from urllib.parse import quote

import click

from repro.cli.options import format_option
from repro.cli.printing import emit_json, put, say
from repro.errors import unknown, visible
from repro.plugins.manuscripts import reading, text_tables, vocabulary
from repro.plugins.manuscripts.checks import (
    CHECKS,
    SEVERITIES,
    Finding,
    Findings,
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
from repro.plugins.manuscripts.series import P_VALUE, Grid, grids
from repro.plugins.manuscripts.source_tables import CHOICE, Manuscript, Place, SourceTable
from repro.version import __version__

_COMMENT = re.compile(r"(%|#|<!--)\s*repro:\s*ignore(?:\[(?P<checks>[^\]\n]*)\])?")


@dataclass(frozen=True)
class Ignored:
    """A comment ``repro: ignore[check, …] reason`` and the ``lines`` whose findings it suppresses."""

    place: Place
    lines: tuple[int, ...]
    checks: tuple[str, ...]

    def is_about(self, finding: Finding) -> bool:
        place = finding.place
        return finding.check in self.checks and place.file == self.place.file and place.line in self.lines


def ignores(file: Path) -> Iterator[Ignored]:
    """Yield a file's ``repro: ignore`` comments. One alone on its line also applies to the line below."""
    lines = decoded(file.read_bytes(), file).split("\n")  # same lines as in tables
    comments = {number: match for number, line in enumerate(lines, 1) if (match := _COMMENT.search(line))}
    alone = {number for number, match in comments.items() if not match.string[: match.start()].strip()}
    for number, match in comments.items():
        below = next((n for n in range(number, len(lines) + 1) if n not in alone), number)
        names = map(str.strip, (match["checks"] or "").split(","))
        yield Ignored(Place(file, number), (number, below), tuple(filter(None, names)))


def without_ignored(findings: Iterable[Finding], files: Iterable[Path]) -> list[Finding]:
    """Return the findings that no comment in ``files`` suppresses, and notes on useless comments."""
    kept, notes = list(findings), list[Finding]()
    for comment in (comment for file in files if file.is_file() for comment in ignores(file)):
        suppressed = list(filter(comment.is_about, kept))
        kept = [f for f in kept if f not in suppressed]
        used = {finding.check for finding in suppressed}
        parts = _useless_parts(comment.checks, used)
        notes += [Finding("note", "ignore", comment.place, *part) for part in parts]
    return in_order([*kept, *notes])


def _useless_parts(checks: Sequence[str], used: set[str]) -> Iterator[tuple[str, str]]:
    if not checks:
        yield "The comment names no check", "Write `repro: ignore[CHECK]` and a reason"
    for name in checks:
        if name not in CHECKS:
            yield str(unknown("check", name, CHECKS)), "The comment suppresses nothing"
        elif name not in used:
            yield f"The comment suppresses no finding of {name}", "This line has none"


BOTH_WAYS = (arithmetic.totals, arithmetic.in_series, arithmetic.in_groups, arithmetic.from_line)
BY_SYSTEMS = (
    emphasis.impossible,
    values.decimals,
    values.falling,
    values.impossible_means,
    values.undefined_depths,
    values.below_first,
    significance.large_spreads,
    significance.fewer_datasets,
)
SENTENCES = (
    claims.wrong_numbers,
    claims.wrong_differences,
    claims.wrong_ratios,
    claims.wrong_steps,
    quotes.wrong_order,
    claims.wrong_claims,
    claims.wrong_costs,
    significance.wrong_coverage,
)
ACROSS = (emphasis.best, emphasis.second_best, emphasis.shaded, across.several_values, across.unpublished)


def findings(
    manuscript: Manuscript, seen: arithmetic.Seen, readme: Manuscript | None = None
) -> list[Finding]:
    """Return the findings in order, also suppressed ones. Adds the ids of compared cells to ``seen``."""
    pairs = oriented([_with_definitions(table, manuscript) for table in manuscript.tables])
    impossible = list(values.impossible(grid for grid, _ in pairs))
    odd = [value.cell for value, _ in impossible]
    by_systems, turned = ([pair[way].without(odd) for pair in pairs] for way in (0, 1))
    found = [finding for _, finding in impossible]
    found += chain.from_iterable(check(g, seen) for check in BOTH_WAYS for g in (*by_systems, *turned))
    found += chain.from_iterable(check(*of) for check, *of in product(BY_SYSTEMS, by_systems))
    found += chain.from_iterable(arithmetic.behind_values(grid, seen) for grid in by_systems)
    found += arithmetic.in_several_tables(by_systems, seen)
    found += chain.from_iterable(check(by_systems) for check in ACROSS)
    found += significance.undefined_marks(by_systems, manuscript.prose)
    found += significance.of_texts(manuscript)
    found += significance.against_printed([*by_systems, *turned], manuscript)
    found += [*values.lost_parts(manuscript), *values.unread_cells(manuscript.tables)]
    if readme:
        found += _of_readme(manuscript, by_systems, readme)
    return in_order([*found, *of_sentences(manuscript, by_systems)])


def oriented(tables: Iterable[SourceTable]) -> list[tuple[Grid, Grid]]:
    """Return the two grids of each table (see ``grids()``). Columns are systems if an earlier table has them
    as rows, or if bold or a shade marks the best of each row."""
    pairs: list[tuple[Grid, Grid]] = []
    for table in tables:
        pair = grids(table)
        heads = [s.heads[-1] for s in pair[0].series if s.heads and not s.total]
        heads = list(filterfalse(P_VALUE.fullmatch, heads))
        systems = {across.name_of(line.label) for grid, _ in pairs for line in grid.lines.values()}
        is_turned = systems.issuperset(map(across.name_of, heads)) or emphasis.is_by_line(pair[0])
        is_turned &= len(heads) > 1 and not any(map(vocabulary.names_something, heads))
        pairs.append(grids(table, is_turned=True) if is_turned else pair)
    return pairs


def _of_readme(manuscript: Manuscript, by_systems: Sequence[Grid], readme: Manuscript) -> Findings:
    others = [grids(table)[0] for table in readme.tables]
    for pair in product(by_systems, others):
        yield from across.several_values(pair)
    yield from of_sentences(replace(manuscript, prose=readme.prose), by_systems)


def _with_definitions(table: SourceTable, manuscript: Manuscript) -> SourceTable:
    sentences = (sentence for _, sentence in quotes.sentences(manuscript))
    marks = [each for each in sentences if emphasis.DEFINES.search(each) and "signific" in each.lower()]
    return replace(table, legend=(*table.legend, *marks))


def of_sentences(manuscript: Manuscript, by_systems: Sequence[Grid]) -> Findings:
    """Yield findings on sentences about tables. One with a wrong quotation is checked for nothing else."""
    tables = quotes.numbered(manuscript, by_systems)
    systems = quotes.Systems.of(manuscript, tables)
    for place, paragraph in manuscript.prose:
        sentences = quotes.END.split(paragraph)
        for number, sentence in enumerate(sentences):
            found = list(quotes.wrong_quotes(place, sentence, tables))
            said = replace(systems, before=tuple(sentences[:number]), text=sentence, place=place)
            for check in SENTENCES if not found else ():
                found += check(said)
            yield from found


@dataclass(frozen=True)
class Audited:
    """A source and its findings. ``cells`` counts the numbers read in its tables.

    ``unread`` counts the cells and parts that could not be read, ``looked_at`` the checked parts by kind.
    """

    manuscript: Manuscript
    findings: list[Finding]
    cells: int
    unread: int
    looked_at: dict[str, int]


def audited(path: Path, *, is_known_compared: bool = True) -> Audited:
    """Read and audit a source, with README.md for LaTeX. Raises UsageError or DataError if unreadable."""
    manuscript = reading.read(path)
    seen = arithmetic.Seen(set)
    found = without_ignored(findings(manuscript, seen, _readme(path, manuscript)), manuscript.files)
    if not is_known_compared:
        found = [f for f in found if f.check != "published"]
    columns = [column for table in manuscript.tables for column in values.columns_of(table)]
    cells, unread = (sum(len(c[part]) for c in columns) for part in (0, 1))
    return Audited(manuscript, found, cells, unread + len(manuscript.lost), _looked_at(manuscript, seen))


def _looked_at(manuscript: Manuscript, seen: arithmetic.Seen) -> dict[str, int]:
    by_systems = [grid for grid, _ in oriented(manuscript.tables)]
    values = [(series, value) for grid in by_systems for series in grid.series for value in series]
    sentences = quotes.sentences(manuscript)
    return {
        **{kind: len(seen[kind]) for kind in (arithmetic.TOTALS, arithmetic.DIFFERENCES)},
        "columns with bold, underlined or shaded numbers": len({s for s, v in values if v.cell.is_styled}),
        "marked numbers": sum(bool(value.cell.marks) for _, value in values),
        "sentences with numbers": sum(re.search(quotes.NUMBER, text) is not None for _, text in sentences),
    }


def _readme(path: Path, manuscript: Manuscript) -> Manuscript | None:
    is_file = path.suffix == ".tex"
    place = path.with_name("README.md") if is_file else path
    is_latex = all(table.place.file.suffix not in text_tables.MARKDOWN for table in manuscript.tables)
    if not is_latex or (is_file and not place.is_file()):
        return None
    files = Files(place)
    names = [name for name in files if name.rpartition("/")[2] == "README.md"]
    if not names:
        return None
    tables, prose, _ = text_tables.read_tables(files, min(names, key=lambda name: name.count("/")))
    return Manuscript(place, tuple(tables), tuple(prose))


SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "doubt": "warning", "note": "note"}


def print_lines(findings: Sequence[Finding]) -> None:
    for f in findings:
        put(f"{f.place}: {f.severity} [{f.check}] {f.text}")


def sarif(findings: Sequence[Finding]) -> dict:
    """Return a SARIF 2.1.0 log. A doubt is a warning, and paths are as given."""
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
    """Print commands for GitHub Actions, e.g. ``::error file=a%0Ab.tex,line=7::``."""
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
  repro audit chapters/*.tex
  repro audit paper.tex --format github
  repro audit results.csv --format sarif > findings.sarif""",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are errors or doubts.")
@click.option("--no-known", is_flag=True, help="Do not compare values with published ones, e.g. of BM25.")
@format_option("json", "sarif", "github")
def file_command(files, strict, no_known, form):
    """List inconsistencies in the tables of a paper's source and in sentences on their numbers.

    Each FILE is LaTeX, Markdown, CSV or HTML, or the folder or archive of a paper's source. An error is
    arithmetically impossible, a doubt breaks a rule that its table follows, and a note is worth a look.
    `% repro: ignore[CHECK] reason` on the line or above it hides a finding (`<!-- ... -->` in Markdown and
    HTML, `#` in CSV).
    """
    made, notes = _audited(files, is_known_compared=not no_known)
    found = list(dict.fromkeys(finding for each in made for finding in each.findings))
    for line in summary(made, found):
        (put if form == "terminal" else say)(line)
    WRITERS[form](found)
    for note in dict.fromkeys(notes):
        say(note)
    return int(strict and any(f.severity != "note" for f in found))


def _audited(files: Sequence[Path], *, is_known_compared: bool) -> tuple[list[Audited], list[str]]:
    made, notes = list[Audited](), list[str]()
    for file in files:
        try:
            made.append(audited(file, is_known_compared=is_known_compared))
        except reading.NoTableError as error:
            if len(files) == 1:
                raise
            notes.append(str(error))
    return made, notes + [note for each in made for note in each.manuscript.notes if CHOICE not in note]


def summary(made: Sequence[Audited], found: Sequence[Finding]) -> list[str]:
    numbers = Counter(f.severity for f in found)
    counts = [(0, 0, 0), *((len(each.manuscript.tables), each.cells, each.unread) for each in made)]
    pairs = zip(map(sum, zip(*counts, strict=True)), ("table", "number", "cell"), strict=True)
    lines = ["Read {} with {}. Not read: {}.".format(*(_counted(*pair) for pair in pairs))]
    lines += [note for each in made for note in each.manuscript.notes if CHOICE in note]
    looked_at = sum((Counter(each.looked_at) for each in made), Counter())
    if looked_at:
        lines.append(f"Checked {', '.join(f'{number:,} {name}' for name, number in looked_at.items())}.")
    return [*lines, ", ".join(_counted(numbers[name], name) for name in SEVERITIES)]


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"
