"""Tables for a terminal, either as published or with measured numbers below the published ones."""

from collections.abc import Sequence
from decimal import Decimal

from rich.console import Group
from rich.text import Text

from repro.errors import visible
from repro.hooks import MATCHES, CellNote
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
    beaten,
    best_measured,
    column_heads,
    compared_grid,
    rounded,
    shown_measurement,
    shown_note,
    shown_run,
    span,
)
from repro.writers.sheet import Cell as Shown
from repro.writers.sheet import Column, Sheet, Value

STYLES = dict.fromkeys(PASSES, "green") | dict.fromkeys(("lower", "higher"), "red") | {"failed": "bold red"}
STYLES |= {"inconclusive": "yellow", "uninformative": "yellow", "not comparable": "yellow", "scaled": "cyan"}
STYLES |= {"blocked": "magenta", "not run": "dim"}
BENEATH = "published above measured"


def printed_table(name: str, table: Table, cells: Sequence[Cell]) -> Group:
    """Return a table as the paper prints it, with bold numbers, marks and dashes."""
    grid = Grid.of(table, {(c.row.id, c.column.id): _format_printed(c) for c in cells})
    sheet = Sheet([Column("", right=False), *_columns(grid.across)])
    for heading, heads in grid.blocks:
        if heading:
            sheet.rows.append(Text(heading, style="italic"))
        for head in heads:
            marks = f" {head.row.marks}" if head.row and head.row.marks else ""
            sheet.rows.append([Text(head.label + marks), *(cell or Text() for cell in grid.line(head))])
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
    """Return selected rows of one table: published and measured numbers, verdicts and superscripts."""
    grid, first = compared_grid(cells), cells[0].cell
    writer = _Writer(grid, comparison)
    sheet = writer.across() if grid.table.transposed else writer.down()
    stacked = writer.published and not grid.table.transposed
    facts = [grid.table.unit, f"scale {cells[0].scale}", *([BENEATH] if stacked else [])]
    is_of_paper = any(row.id not in comparison.own_rows for row in grid.rows)
    name = f"{first.paper.name} table {grid.table.id}: " if is_of_paper else ""
    title = f"{name}{grid.table.about} ({'; '.join(facts)})"
    table = _add_title(title, sheet, note=conditions(cells))
    agreement = against_paper(cells, grid)
    return Group(table, agreement) if agreement else table


class _Writer:
    """Writes the lines of a compared table."""

    def __init__(self, grid: Grid[ComparedCell], comparison: Comparison):
        self.grid, self.comparison = grid, comparison
        self.best = best_measured(grid)
        self.published = any(not c.cell.printed.is_dash for c in grid.cells.values())

    def down(self) -> Sheet:
        """Return one system per row, with published numbers above measured ones."""
        sheet = Sheet([Column("", right=False), *_columns(self.grid.across)])
        for heading, heads in self.grid.blocks:
            if heading or sheet.rows:
                sheet.rows.append(Text(heading, style="italic"))
            for head in heads:
                sheet.rows += self._lines(self._label(head), self.grid.line(head))
        return sheet

    def _lines(self, label: Text, cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
        """Return a system's lines, or one line if nothing is published. A shared verdict appears once."""
        fields = [self._measured(c) for c in cells]
        is_own = any(c and c.cell.row.id in self.comparison.own_rows for c in cells)
        if is_own or not self.published:
            return [[label, *fields]]
        words = {str(text) for text in fields if isinstance(text, Text) and text.plain}
        numbers = any(isinstance(text, Value) for text in fields)
        lower_line: Sequence[Shown] = [Text("  measured", style="dim"), *fields]
        if len(words) == 1 and not numbers:
            [word] = words
            lower_line = [Text(f"  {word}", style=STYLES[word]), *(Text() for _ in cells)]
        published_line = [label, *map(_format_published, cells)]
        if self.comparison.own_rows:  # without values reported elsewhere
            return [published_line, *([lower_line] if numbers else []), *_imported_line(cells)]
        other_lines = [*_imported_line(cells), *_note_lines(cells)]
        return [published_line, lower_line, *_differences(cells), *other_lines]

    def across(self) -> Sheet:
        """Return one system per group of columns (transposed tables), with numbers side by side."""
        has_differences = any(c.verdict.difference is not None for c in self.grid.cells.values())
        kinds = ["published", "measured", *(["difference", "95 % over queries"] if has_differences else [])]
        sheet = Sheet([Column("", right=False)])
        rows: list[list[Shown]] = [[Text(head.label)] for head in self.grid.down]
        for system in self.grid.across:
            is_own = system.id in self.comparison.own_rows
            first = 1 if is_own else 0
            shown = kinds[first : self._kinds_near_own(system)] if self.comparison.own_rows else kinds
            reports = [] if self.comparison.own_rows else self._lines_across(system)
            names = [*shown, *(str(line[0]).strip() for line in reports)]
            sheet.columns += [Column(kind, self._label(system).plain) for kind in names]
            for place, left in enumerate(self.grid.down):
                sides = self._sides(self.grid.cells.get((system.id, left.id)))[first : first + len(shown)]
                rows[place] += [*sides, *(line[place + 1] for line in reports)]
        sheet.rows += rows
        return sheet

    def _kinds_near_own(self, system: Head) -> int:
        """Return the number of columns of a system next to the user's row: 2 (published and measured) if it
        has measured numbers, otherwise 1 (published)."""
        numbers = [self.grid.cells.get((system.id, left.id)) for left in self.grid.down]
        return 2 if any(c and c.measured is not None for c in numbers) else 1

    def _lines_across(self, system: Head) -> list[Sequence[Shown]]:
        return _note_lines([self.grid.cells.get((system.id, left.id)) for left in self.grid.down])

    def _sides(self, c: ComparedCell | None) -> list[Shown]:
        judged_cell = c if c and c.verdict.difference is not None else None
        texts = (_difference(judged_cell), _interval(judged_cell)) if judged_cell else ("", "")
        return [_format_published(c), self._measured(c), *map(Text, texts)]

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
        suffix = Text(beaten(c, self.comparison, self.grid, between=" ").translate(RAISED), style=style)
        if c.verdict.name != "scaled" and c.cell.row.id not in self.comparison.own_rows:
            suffix.append(f" {c.verdict.name}", style=f"{style} italic")
        return Value(Text(value, style=style + bold), suffix)


def _format_published(c: ComparedCell | None) -> Shown:
    return Value(Text("–"), Text()) if c is None else _format_printed(c.cell)


def _differences(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    judged_cells = [c if c and c.verdict.difference is not None else None for c in cells]
    if not any(judged_cells):
        return []
    differences = [_difference(c) if c else "" for c in judged_cells]
    intervals = [_interval(c) if c else "" for c in judged_cells]
    kinds = {"  difference": differences, "  95 % over queries": intervals}
    return [[Text(kind, style="dim"), *map(Text, texts)] for kind, texts in kinds.items() if any(texts)]


def _difference(c: ComparedCell) -> str:
    return "" if c.verdict.difference is None else f"{Decimal(rounded(c.verdict.difference, c.cell)):+}"


def _imported_line(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    if not any(c and c.imported for c in cells):
        return []
    return [[Text("  run by others", style="dim"), *map(_imported_run, cells)]]


def _imported_run(c: ComparedCell | None) -> Shown:
    if c is None or not c.imported:
        return Text()
    run = c.imported[-1]
    return Value(Text(shown_run(run, c.cell), style="dim"), Text(f" {run.verdict.name}", style="dim italic"))


def _note_lines(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    """Return lines with the first value reported elsewhere per cell, and with the range of several."""
    stated = [(c, c.notes_at_full) if c else (None, ()) for c in cells]
    closest = [_note(c, notes[0]) if c and notes else Text() for c, notes in stated]
    spreads = [f"{len(notes)}: {span(notes, c.cell)}" if c and len(notes) > 1 else "" for c, notes in stated]
    lines: list[Sequence[Shown]] = []
    if any(notes for _, notes in stated):
        lines.append([Text(f"  {STATED}", style="dim"), *closest])
    if any(spreads):
        lines.append([Text("  all of them", style="dim"), *(Text(s, style="dim") for s in spreads)])
    return lines


def _note(c: ComparedCell, note: CellNote) -> Shown:
    remark = f" {MATCHES[note.match]}{note.making}"
    return Value(Text(shown_note(note, c.cell), style="dim"), Text(remark, style="dim italic"))


def _interval(c: ComparedCell) -> str:
    interval = c.interval
    return f"{rounded(interval.low, c.cell)} to {rounded(interval.high, c.cell)}" if interval else ""


def against_paper(cells: Sequence[ComparedCell], grid: Grid) -> Group | None:
    """Return the agreement with the paper on the order of rows and on gains over its own baselines."""
    taus, gains = orders(cells), effects(cells)
    if not (taus or gains):
        return None
    labels = {row.id: row.label for row in grid.rows}
    sheet = Sheet([Column("", right=False), *_columns(column_heads(grid.columns))])
    if taus:
        sheet.rows.append([Text("order of rows, tau"), *(_format_tau(taus.get(c.id)) for c in grid.columns)])
    for row, baseline in dict.fromkeys((e.row, e.over) for e in gains):
        by_column = {e.column: _gain(e) for e in gains if (e.row, e.over) == (row, baseline)}
        values = [by_column.get(c.id, Text()) for c in grid.columns]
        sheet.rows.append([Text(f"{labels[row]} over {labels[baseline]}"), *values])
    subtitle = "Kendall's tau-b, effect ratio (1 = the published gain), delta RI (0)"
    return _add_title(f"against the published numbers: {subtitle}", sheet)


def _format_tau(tau: tuple[float, int] | None) -> Text:
    return Text(f"{tau[0]:.2f} ({tau[1]} rows)" if tau else "")


def _gain(effect: Effect) -> Text:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    return Text(ratio + ("" if effect.delta_ri is None else f", {effect.delta_ri:+.3f}"))


def _add_title(title: str, sheet: Sheet, *, note: str = "") -> Group:
    notes = [Text(visible(note), style="dim")] if note else []
    return Group(Text(visible(title), style="bold"), *notes, sheet, Text())
