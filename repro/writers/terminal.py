"""Tables for a terminal, with measured numbers below the published ones."""

from collections.abc import Callable, Sequence
from decimal import Decimal

from rich.console import Group
from rich.text import Text

from repro.errors import visible
from repro.graph import grouped
from repro.hooks import MATCHES
from repro.manifest.cells import Cell
from repro.manifest.schema import Table
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.effects import Effect, effects, orders
from repro.verdicts.summary import conditions
from repro.verdicts.verdict import PASSES
from repro.writers.grid import (
    RAISED,
    STATED,
    Grid,
    Head,
    best_measured,
    column_heads,
    compared_grid,
    rounded,
    shown_measurement,
    shown_note,
    shown_run,
    span,
    superscript,
)
from repro.writers.sheet import Cell as Shown
from repro.writers.sheet import Column, Sheet, Value

Cells = Sequence[ComparedCell | None]
Lines = list[Sequence[Shown]]
STYLES = dict.fromkeys(PASSES, "green") | dict.fromkeys(("lower", "higher"), "red") | {"failed": "bold red"}
STYLES |= {"inconclusive": "yellow", "uninformative": "yellow", "not comparable": "yellow", "scaled": "cyan"}
STYLES |= {"blocked": "magenta", "not run": "dim"}
BENEATH = "published above measured"


def printed_table(name: str, table: Table, cells: Sequence[Cell]) -> Group:
    grid = Grid.of(table, {(c.row.id, c.column.id): _format_printed(c) for c in cells})
    sheet = Sheet([Column("", right=False), *_columns(grid.across)])
    for heading, heads in grid.blocks:
        if heading:
            sheet.rows.append(Text(heading, style="italic"))
        for head in heads:
            label = f"{head.label} {head.marks}".rstrip()
            sheet.rows.append([Text(label), *(cell or Text() for cell in grid.line(head))])
    return _add_title(f"{name} table {table.id}: {table.about} ({table.unit}; published)", sheet)


def _columns(heads: Sequence[Head]) -> list[Column]:
    return [Column(head.last, head.heading) for head in heads]


def _format_printed(cell: Cell) -> Shown:
    if cell.printed.value is None:
        return Value(Text("–"), Text()) if cell.printed.is_dash else Text(cell.text)
    style = "bold" if cell.printed.bold else ""
    delta = f" ({cell.printed.delta:+})" if cell.printed.delta is not None else ""
    return Value(Text(cell.printed.plain, style=style), Text(cell.printed.marks + delta, style=style))


def compared_table(comparison: Comparison, cells: Sequence[ComparedCell]) -> Group:
    """Return a table with numbers, verdicts and superscripts, and the result of ``against_paper``."""
    grid, first = compared_grid(cells), cells[0].cell
    writer = _Writer(grid, comparison)
    sheet = writer.across() if grid.table.transposed else writer.down()
    stacked = writer.published and not grid.table.transposed
    facts = [grid.table.unit, f"scale {cells[0].scale}", *([BENEATH] if stacked else [])]
    is_of_paper = any(row.id not in comparison.own_rows for row in grid.rows)
    name = f"{first.paper.name} table {grid.table.id}: " if is_of_paper else ""
    table = _add_title(f"{name}{grid.table.about} ({'; '.join(facts)})", sheet, note=conditions(cells))
    agreement = against_paper(cells, grid)
    return Group(table, agreement) if agreement else table


class _Writer:
    def __init__(self, grid: Grid[ComparedCell], comparison: Comparison):
        self.grid, self.comparison = grid, comparison
        self.best = best_measured(grid)
        self.published = any(not c.cell.printed.is_dash for c in grid.cells.values())

    def down(self) -> Sheet:
        sheet = Sheet([Column("", right=False), *_columns(self.grid.across)])
        for heading, heads in self.grid.blocks:
            if heading or sheet.rows:
                sheet.rows.append(Text(heading, style="italic"))
            for head in heads:
                sheet.rows += self._lines(self._label(head), self.grid.line(head))
        return sheet

    def _lines(self, label: Text, cells: Cells) -> Lines:
        fields = [self._measured(c) for c in cells]
        if not self.published or self._are_own(cells):
            return [[label, *fields]]
        lines: Lines = [[label, *map(_format_published, cells)]]
        if not self.comparison.own_rows:
            return [*lines, self._measured_line(fields), *_differences(cells), *_lines_of_others(cells)]
        if _are_measured(cells):
            lines.append(self._measured_line(fields))
        return [*lines, *_line("run by others", cells, _imported_run)]

    def _are_own(self, cells: Cells) -> bool:
        return any(c and c.cell.row.id in self.comparison.own_rows for c in cells)

    def _measured_line(self, fields: Sequence[Shown]) -> list[Shown]:
        """Return the measured numbers, or one verdict if all cells lack a number and share it."""
        words = {str(field) for field in fields if field != Text()}
        if len(words) == 1 and words <= STYLES.keys():
            [word] = words
            return [Text(f"  {word}", style=STYLES[word]), *(Text() for _ in fields)]
        return [Text("  measured", style="dim"), *fields]

    def across(self) -> Sheet:
        sheet = Sheet([Column("", right=False)])
        rows: list[list[Shown]] = [[Text(head.label)] for head in self.grid.down]
        for system in self.grid.across:
            cells = [self.grid.cells.get((system.id, left.id)) for left in self.grid.down]
            for kind, *shown in self._lines_across(cells):
                sheet.columns.append(Column(str(kind).strip(), self._label(system).plain))
                for row, entry in zip(rows, shown, strict=True):
                    row.append(entry)
        sheet.rows += rows
        return sheet

    def _lines_across(self, cells: Cells) -> Lines:
        published = [Text("published"), *map(_format_published, cells)]
        measured = [Text("measured"), *map(self._measured, cells)]
        if not self.comparison.own_rows:
            return [published, measured, *_differences(cells), *_lines_of_others(cells)]
        first = [] if self._are_own(cells) else [published]
        return [*first, *([measured] if _are_measured(cells) else [])]

    def _label(self, head: Head) -> Text:
        letters = self.grid.letters
        width = max(map(len, letters.values()))
        return Text(f"{letters.get(head.id, ''):>{width}} {head.label}")

    def _measured(self, c: ComparedCell | None) -> Shown:
        if c is None:
            return Text()
        style, value = STYLES[c.verdict.name], shown_measurement(c)
        if value is None:
            return Text(c.verdict.name, style=style)
        bold = " bold" if (c.cell.row.id, c.cell.column.id) in self.best else ""
        suffix = Text(superscript(c, self.comparison, self.grid, between=" ").translate(RAISED), style=style)
        if c.verdict.name != "scaled" and c.cell.row.id not in self.comparison.own_rows:
            suffix.append(f" {c.verdict.name}", style=f"{style} italic")
        return Value(Text(value, style=style + bold), suffix)


def _format_published(c: ComparedCell | None) -> Shown:
    return Value(Text("–"), Text()) if c is None else _format_printed(c.cell)


def _are_measured(cells: Cells) -> bool:
    return any(c and c.records for c in cells)


def _line(name: str, cells: Cells, show: Callable[[ComparedCell], Shown]) -> Lines:
    shown = [show(c) if c else Text() for c in cells]
    return [[Text(f"  {name}", style="dim"), *shown]] if any(text != Text() for text in shown) else []


def _differences(cells: Cells) -> Lines:
    return _line("difference", cells, _difference) + _line("95 % over queries", cells, _interval)


def _difference(c: ComparedCell) -> Text:
    difference = c.verdict.difference
    return Text("" if difference is None else f"{Decimal(rounded(difference, c.cell)):+}")


def _interval(c: ComparedCell) -> Text:
    interval = c.interval if c.verdict.difference is not None else None
    return Text(f"{rounded(interval.low, c.cell)} to {rounded(interval.high, c.cell)}" if interval else "")


def _lines_of_others(cells: Cells) -> Lines:
    lines = _line("run by others", cells, _imported_run) + _line(STATED, cells, _closest_note)
    return lines + _line("range elsewhere", cells, _range_of_notes)


def _imported_run(c: ComparedCell) -> Shown:
    if not c.imported:
        return Text()
    run = c.imported[-1]
    return Value(Text(shown_run(run, c.cell), style="dim"), Text(f" {run.verdict.name}", style="dim italic"))


def _closest_note(c: ComparedCell) -> Shown:
    if not c.notes_at_full:
        return Text()
    note = c.notes_at_full[0]
    remark = f" {MATCHES[note.match]}{note.making}"
    return Value(Text(shown_note(note, c.cell), style="dim"), Text(remark, style="dim italic"))


def _range_of_notes(c: ComparedCell) -> Text:
    number = len(c.notes_at_full)
    return Text(f"{number}: {span(c.notes_at_full, c.cell)}" if number > 1 else "", style="dim")


def against_paper(cells: Sequence[ComparedCell], grid: Grid) -> Group | None:
    """Return the agreement with the paper on the order of rows and on gains, or None without any."""
    taus, gains = orders(cells), effects(cells)
    if not (taus or gains):
        return None
    labels = {row.id: row.label for row in grid.rows}
    pairs = grouped(((effect.row, effect.over), (effect.column, _gain(effect))) for effect in gains)
    lines = [(f"{labels[row]} over {labels[over]}", dict(gain)) for (row, over), gain in pairs.items()]
    if taus:
        agreement = {column: f"{tau:.2f} ({rows} rows)" for column, (tau, rows) in taus.items()}
        lines.insert(0, ("order of rows, tau", agreement))
    sheet = Sheet([Column("", right=False), *_columns(column_heads(grid.columns))])
    for name, values in lines:
        sheet.rows.append([Text(name), *(Text(values.get(c.id, "")) for c in grid.columns)])
    subtitle = "Kendall's tau-b, effect ratio (1 = the published gain), delta RI (0)"
    return _add_title(f"against the published numbers: {subtitle}", sheet)


def _gain(effect: Effect) -> str:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    return ratio + ("" if effect.delta_ri is None else f", {effect.delta_ri:+.3f}")


def _add_title(title: str, sheet: Sheet, *, note: str = "") -> Group:
    notes = [Text(visible(note), style="dim")] if note else []
    return Group(Text(visible(title), style="bold"), *notes, sheet, Text())
