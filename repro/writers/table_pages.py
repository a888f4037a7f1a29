"""A Markdown page per table with commands and numbers of each row, e.g. ``PAPER-table1.md``."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from repro.hooks import MAKINGS
from repro.manifest.schema import Row
from repro.running.recipe_calls import not_at
from repro.running.scale import scale
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.summary import cut_measures, doubts_in_brief, measured_in_words, scale_notes, summarise
from repro.version import __version__
from repro.writers.grid import (
    RAISED,
    STATED,
    SUPERSCRIPTS,
    Grid,
    compared_grid,
    shown_measurement,
    shown_note,
    shown_run,
    span,
    superscript,
)
from repro.writers.latex import cited_paper, unit_in_words
from repro.writers.markdown import code, escaped, link, sentence
from repro.writers.markdown import table as markdown_table

HOW_TO = """\
Each row links to its measurements and the command for full scale. `repro plan {place}` estimates the cost of
the whole table, and `repro data fetch --for {cells}` downloads its data and checkpoints. The second command
of a row runs in minutes on any computer, at scale `{scale}` on {data}. Compare its numbers with yours, not
with the published ones.{cuts}
"""
INDEX = """\
# Tables, row by row

Each table has a page with its rows, commands, published and measured numbers. `repro report site` writes
these pages from the papers' manifests and the records of measurements.
"""


def table_pages(full: Comparison, rehearsal: Comparison) -> dict[str, str]:
    """Return file name -> Markdown: a page per results table, and ``index.md``.

    ``rehearsal`` has the same cells at a smaller scale.
    """
    rehearsals = {c.cell.id: c for c in rehearsal.cells}
    tables = [cells for cells in full.by_table().values() if cells[0].cell.table.kind == "results"]
    pages = {_file_name(cells): "\n".join(_page(cells, rehearsals)) for cells in tables}
    return {"index.md": "\n".join(_index(full, tables, rehearsals)), **pages}


def _file_name(cells: Sequence[ComparedCell]) -> str:
    return f"{cells[0].cell.paper.name}-table{cells[0].cell.table.id}.md"


def _index(
    full: Comparison, tables: Sequence[Sequence[ComparedCell]], rehearsals: dict[str, ComparedCell]
) -> Iterator[str]:
    yield INDEX
    yield f"{measured_in_words(full.cells)}.\n"
    rows = []
    for cells in tables:
        first, counts = cells[0].cell, summarise(cells)
        rehearsed = summarise([rehearsals[c.cell.id] for c in cells if c.cell.id in rehearsals])
        place = link(f"{first.paper.name}, table {first.table.id}", _file_name(cells))
        numbers = [counts.cells, counts.measured, counts.imported, rehearsed.measured]
        rows.append([place, sentence(first.table.about), *map(str, numbers)])
    head = ["table", "subject", "published cells", "measured at full", "run by others"]
    yield from markdown_table([*head, f"measured at {_scale(rehearsals)}"], rows)


def _page(cells: Sequence[ComparedCell], rehearsals: dict[str, ComparedCell]) -> Iterator[str]:
    grid, first = compared_grid(cells), cells[0].cell
    place = f"{first.paper.name} --table {first.table.id}"
    subject = first.table.about.partition(";")[0]
    yield f"# {sentence(f'{first.paper.name}, table {first.table.id}: {subject}')}\n"
    title, paper = escaped(first.paper.manifest.title), escaped(cited_paper(first.paper.manifest))
    about = sentence(f"{first.table.about}. {unit_in_words(first.table)}.")
    yield f"Table {first.table.id} of *{title}*, {paper}: {about}\n"
    rehearsed = [rehearsals[c.cell.id] for c in cells if c.cell.id in rehearsals]
    data = sorted({name for c in rehearsed for name in c.stand_ins})
    yield HOW_TO.format(
        place=place,
        cells=f"{first.paper.name}/{first.table.id}",
        scale=_scale(rehearsals),
        data=", ".join(map(code, data)) or "substitutes for the paper's data",
        cuts="".join(f" {remark}." for remark in (cut_measures(rehearsed), scale_notes(rehearsed)) if remark),
    )
    yield from overview(grid, linked=True)
    for label, rows in _blocks(grid):
        if label:
            yield f"## {escaped(label)}\n"
        for row in rows:
            yield from _section(grid, row, rehearsals, place, level="###" if label else "##")
    yield f"*Written by `repro report site` of repro {__version__}.*\n"


def _blocks(grid: Grid[ComparedCell]) -> Iterator[tuple[str, list[Row]]]:
    labels = {group.id: group.label for group in grid.table.groups}
    for group, rows in groupby(grid.rows, key=lambda row: row.group):
        yield labels.get(group or "", ""), list(rows)


def standalone_table(comparison: Comparison, cells: Sequence[ComparedCell]) -> str:
    """Return a table as Markdown, below a line with its subject."""
    table, paper = cells[0].cell.table, cells[0].cell.paper.name
    about = sentence(f"{paper}, table {table.id}: {table.about} ({table.unit}).")
    return "\n".join([about, "", *overview(compared_grid(cells), comparison=comparison)])


def overview(
    grid: Grid[ComparedCell], *, linked: bool = False, comparison: Comparison | None = None
) -> Iterator[str]:
    """Yield a Markdown table of published and measured numbers.

    If ``linked``, labels link to the sections of their rows. ``comparison`` adds superscripts.
    """
    rows = []
    beats = _superscripts(grid, comparison)
    for label, block in _blocks(grid):
        rows += [[f"*{escaped(label)}*"] + [""] * len(grid.columns)] if label else []
        for row in block:
            name = link(row.label, f"#{_anchor(row)}") if linked else escaped(row.label)
            letter = f"({grid.letters[row.id]}) " if beats else ""
            places = [(row.id, column.id) for column in grid.columns]
            rows.append(
                [letter + name, *(_both_numbers(grid.cells.get(p)) + beats.get(p, "") for p in places)]
            )
    yield from markdown_table(["row", *(escaped(column.label) for column in grid.columns)], rows)
    cells = grid.cells.values()
    if measured_cells := [c for c in cells if c.records]:
        scale = measured_cells[0].scale
        caveat = "" if scale == "full" else "not compared with the published numbers"
        notes = filter(None, [f"scale {scale}", caveat, scale_notes(cells), doubts_in_brief(cells)])
        yield f"Published → measured at {', '.join(notes)}.\n"
    if beats:
        yield f"{SUPERSCRIPTS}\n"


def _superscripts(grid: Grid[ComparedCell], comparison: Comparison | None) -> dict[tuple[str, str], str]:
    if comparison is None:
        return {}
    beats = {place: superscript(c, comparison, grid, between=" ") for place, c in grid.cells.items()}
    return {place: letters.translate(RAISED) for place, letters in beats.items() if letters}


def _both_numbers(c: ComparedCell | None) -> str:
    if c is None:
        return "–"
    number = _published_number(c)
    return number if not c.records else f"{number} → {shown_measurement(c)}"


def _published_number(c: ComparedCell) -> str:
    text = escaped(c.cell.printed.plain + c.cell.printed.marks)
    return f"**{text}**" if c.cell.printed.bold else text


def _section(
    grid: Grid[ComparedCell], row: Row, rehearsals: dict[str, ComparedCell], place: str, *, level: str
) -> Iterator[str]:
    cells = [c for column in grid.columns if (c := grid.cells.get((row.id, column.id)))]
    yield f"{level} {escaped(row.label)} {{ #{_anchor(row)} }}\n"
    yield _command(cells, f"repro run {place} --row {row.id}", _scale(rehearsals))
    if row.note:
        yield sentence(f"{row.note.rstrip('.')}.") + "\n"
    yield from _numbers(cells, rehearsals)


def _command(cells: Sequence[ComparedCell], command: str, small_scale: str) -> str:
    recipe_cells = [c.cell for c in cells if c.cell.recipe]
    if not recipe_cells:
        reason = cells[0].cell.row.not_measurable or "its numbers follow from those of other cells"
        return sentence(f"No command measures this row: {reason}.") + "\n"
    has_rehearsal = any(not not_at(cell, scale(small_scale)) for cell in recipe_cells)
    rehearsal_command = f"{command} --scale {small_scale}\n" if has_rehearsal else ""
    return f"```bash\n{command}\n{rehearsal_command}```\n"


def _numbers(cells: Sequence[ComparedCell], rehearsals: dict[str, ComparedCell]) -> Iterator[str]:
    head = ["column", "measure", "published", "measured", "verdict", f"at {_scale(rehearsals)}"]
    extra_columns = {"run by others": _imported_runs} if any(c.imported for c in cells) else {}
    extra_columns |= {STATED: _stated} if any(c.notes for c in cells) else {}
    rehearsed = [rehearsals.get(c.cell.id) for c in cells]
    rows = []
    for c, rehearsal in zip(cells, rehearsed, strict=True):
        line = [escaped(c.cell.column.label), _measure(c), _published_number(c), _measured_number(c)]
        line += [c.verdict.name if c.records else "–", _measured_number(rehearsal)]
        rows.append(line + [show(c) for show in extra_columns.values()])
    yield from markdown_table([*head, *extra_columns], rows)
    shown = [*cells, *filter(None, rehearsed)]
    if whys := dict.fromkeys(str(doubt) for c in shown for doubt in c.doubts):
        yield f"Measured numbers in brackets are in doubt: {sentence('; '.join(whys))}.\n"


def _measured_number(c: ComparedCell | None) -> str:
    return (c and shown_measurement(c)) or "–"


def _measure(c: ComparedCell) -> str:
    column = c.cell.column
    if column.mean_of:
        return f"mean of {len(column.mean_of)} columns"
    return " on ".join(code(name) for name in (column.measure, column.dataset) if name) or "–"


def _imported_runs(c: ComparedCell) -> str:
    runs = (f"{shown_run(run, c.cell)} {run.verdict.name} ({escaped(run.maker)})" for run in c.imported)
    return "; ".join(runs) or "–"


def _stated(c: ComparedCell) -> str:
    if not c.notes:
        return "–"
    first, number = c.notes[0], len(c.notes)
    match = "" if first.match == "exact" else f", a {first.match} match"
    more = f"; {number} values, {span(c.notes, c.cell)}" if number > 1 else ""
    place = link(first.label, first.address) if first.address else escaped(first.label)
    return f"{shown_note(first, c.cell)} ({MAKINGS[first.making]}{match}, {place}{more})"


def _anchor(row: Row) -> str:
    return row.id.replace(".", "-")


def _scale(rehearsals: dict[str, ComparedCell]) -> str:
    return next(iter(rehearsals.values())).scale
