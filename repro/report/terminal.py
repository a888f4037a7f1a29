"""Tables for a terminal: as published, or with ours beneath."""

from collections.abc import Sequence

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from repro.judging.compared import Compared, Comparison
from repro.judging.effects import Effect, effects, orders
from repro.judging.verdict import PASSES
from repro.manifest.cells import Cell
from repro.manifest.schema import Table
from repro.report.grid import Grid, column_heads, compared_grid, ours

STYLES = dict.fromkeys(PASSES, "green") | dict.fromkeys(("lower", "higher"), "red") | {"failed": "bold red"}
STYLES |= {"inconclusive": "yellow", "modified": "yellow", "scaled": "cyan"}
STYLES |= {"blocked": "magenta", "not run": "dim"}
# there is no raised q
RAISED = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))


def printed_table(name: str, table: Table, cells: Sequence[Cell]) -> Group:
    """A table as the paper prints it: bold, marks and dashes included."""
    grid = Grid.of(table, {(c.row.id, c.column.id): _as_printed(c) for c in cells})
    view = _view(["", *(head.label for head in grid.across)])
    for heading, heads in grid.blocks:
        if heading:
            view.add_row(Text(heading, style="italic"))
        for head in heads:
            marks = f" {head.row.marks}" if head.row and head.row.marks else ""
            view.add_row(Text(head.label + marks), *grid.line(head))
    return _titled(f"{name} table {table.id}: {table.about} ({table.unit}; published)", view)


def _as_printed(cell: Cell) -> Text:
    if cell.printed.value is None:
        return Text(cell.text if not cell.printed.is_dash else "–")
    delta = f" ({cell.printed.delta:+})" if cell.printed.delta is not None else ""
    return Text(cell.printed.plain + cell.printed.marks + delta, style="bold" if cell.printed.bold else "")


def compared_table(comparison: Comparison, cells: Sequence[Compared]) -> Group:
    """Selected rows of one table: published and ours, with its verdict and the rows that it beats."""
    grid, first = compared_grid(cells), cells[0].cell
    letters = dict(zip((row.id for row in grid.rows), RAISED, strict=False))
    view = (_across if grid.table.transposed else _down)(grid, comparison, letters)
    about = f"{grid.table.about} ({grid.table.unit}; scale {cells[0].scale})"
    table = _titled(f"{first.paper.name} table {grid.table.id}: {about}", view)
    against = against_paper(cells, grid)
    return Group(table, against) if against else table


def _down(grid: Grid[Compared], comparison: Comparison, letters: dict[str, str]) -> RichTable:
    """Systems downwards: published above, ours beneath."""
    view = _view(["", "", *(head.label for head in grid.across)])
    for heading, heads in grid.blocks:
        if heading or view.row_count:  # an empty one ends the block before it
            view.add_row(Text(heading, style="italic"))
        for head in heads:
            pairs = [_pair(c, comparison, letters) for c in grid.line(head)]
            name = Text(f"{letters.get(head.id, ' ')} {head.label}")
            for label, kind, i in ((name, "published", 0), ("", "ours", 1)):
                view.add_row(label, Text(kind, style="dim"), *(pair[i] for pair in pairs))
    return view


def _across(grid: Grid[Compared], comparison: Comparison, letters: dict[str, str]) -> RichTable:
    """Systems across, as the paper has a transposed table: published and ours side by side."""
    names = (f"{letters.get(head.id, ' ')} {head.label}" for head in grid.across)
    view = _view(["", *(label for name in names for label in (name, "ours"))])
    for head in grid.down:
        pairs = (_pair(c, comparison, letters) for c in grid.line(head))
        view.add_row(head.label, *(text for pair in pairs for text in pair))
    return view


def _pair(c: Compared | None, comparison: Comparison, letters: dict[str, str]) -> tuple[Text, Text]:
    """A cell as published, and ours with its verdict, in brackets where the manifest is another now."""
    if c is None:
        return Text("–"), Text("")
    style, value = STYLES[c.verdict.name], ours(c)
    if value is None:
        return Text(c.cell.printed.plain), Text(c.verdict.name, style=style)
    beaten = "".join(RAISED[letters[row]] for row in comparison.betters(c) if row in letters)
    text = Text(f"({value})" if c.outdated else value + beaten, style=style)
    if c.verdict.name != "scaled":
        text.append(f" {c.verdict.name}", style=f"{style} italic")
    return Text(c.cell.printed.plain), text


def against_paper(cells: Sequence[Compared], grid: Grid) -> Group | None:
    """Whether rows stand in the paper's order and gain as much over the authors' own baselines."""
    taus, gains = orders(cells), effects(cells)
    if not (taus or gains):
        return None
    labels = {row.id: row.label for row in grid.rows}
    view = _view(["", *(head.label for head in column_heads(grid.columns))])
    if taus:
        view.add_row("order of rows, tau", *(_order(taus.get(c.id)) for c in grid.columns))
    for row, over in dict.fromkeys((e.row, e.over) for e in gains):
        by_column = {e.column: _gain(e) for e in gains if (e.row, e.over) == (row, over)}
        values = [by_column.get(c.id, "") for c in grid.columns]
        view.add_row(Text(f"{labels[row]} over {labels[over]}"), *values)
    about = "Kendall's tau-b; effect ratio (1 = the published gain), delta RI (0)"
    return _titled(f"against the published numbers: {about}", view)


def _order(tau: tuple[float, int] | None) -> str:
    return f"{tau[0]:.2f} ({tau[1]} rows)" if tau else ""


def _gain(effect: Effect) -> str:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    return ratio + ("" if effect.delta_ri is None else f", {effect.delta_ri:+.3f}")


def _titled(title: str, view: RichTable) -> Group:
    """A table below its bold title; a title of rich's own would be folded to the width of the table."""
    return Group(Text(title, style="bold"), view)


def _view(head: Sequence[str]) -> RichTable:
    """An empty table; columns without a name hold labels, the others numbers."""
    view = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(head):
        view.add_column(name, justify="left" if number < 2 and not name else "right", overflow="fold")
    return view
