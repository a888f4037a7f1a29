"""Tables for a terminal: print above, ours beneath with its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from repro.judging.comparison import Compared, Comparison
from repro.judging.effects import Effect, effects, orders
from repro.report.numbers import shown
from repro.report.terminal import grid, titled

STYLES = {
    "exact": "green",
    "consistent": "green",
    "within tolerance": "green",
    "lower": "red",
    "higher": "red",
    "failed": "bold red",
    "inconclusive": "yellow",
    "modified": "yellow",
    "scaled": "cyan",
    "blocked": "magenta",
    "not run": "dim",
}
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
LETTERS = "abcdefghijklmnoprstuvwxyz"  # there is no superscript q


def compared_table(comparison: Comparison, cells: Sequence[Compared]) -> Group:
    """Selected rows of one table: print and ours with its verdict and what it beats, on print's axes."""
    table, first = cells[0].cell.table, cells[0].cell
    rows = [r for r in table.rows if any(r.id == c.cell.row.id for c in cells)]
    columns = [c for c in table.columns if any(c.id == x.cell.column.id for x in cells)]
    letters = dict(zip([r.id for r in rows], LETTERS, strict=False))
    title = f"{first.paper.name} table {table.id}: {table.about} ({table.unit}; scale {cells[0].scale})"
    by_place = {(c.cell.row.id, c.cell.column.id): c for c in cells}
    ours = {place: _ours(c, comparison, letters) for place, c in by_place.items()}
    printed = {place: Text(c.cell.printed.plain) for place, c in by_place.items()}
    if table.transposed:
        shown = titled(title, _across(rows, columns, letters, printed, ours))
    else:
        shown = titled(title, _down(table, rows, columns, letters, printed, ours))
    against = _against_print(cells, rows, columns)
    return Group(shown, against) if against else shown


def _against_print(cells, rows, columns) -> Group | None:
    """Whether the order of rows and the gains over the authors' own baselines are print's."""
    taus, gains = orders(cells), effects(cells)
    if not (taus or gains):
        return None
    labels = {row.id: row.label for row in rows}
    view = grid(["", *(" ".join(c.head) or c.id for c in columns)])
    if taus:
        told = [taus.get(c.id) for c in columns]
        view.add_row("order of rows, tau", *(f"{t[0]:.2f} ({t[1]} rows)" if t else "" for t in told))
    for row, over in dict.fromkeys((e.row, e.over) for e in gains):
        found = {e.column: e for e in gains if (e.row, e.over) == (row, over)}
        values = [_gain(found[c.id]) if c.id in found else "" for c in columns]
        view.add_row(Text(f"{labels[row]} over {labels[over]}"), *values)
    return titled("against print: Kendall's tau-b; effect ratio (1 = the printed gain), delta RI (0)", view)


def _gain(effect: Effect) -> str:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    return ratio + ("" if effect.delta_ri is None else f", {effect.delta_ri:+.3f}")


def _down(table, rows, columns, letters, printed, ours) -> RichTable:
    """Systems downwards: print above, ours beneath."""
    view = grid(["", "", *(" ".join(c.head) or c.id for c in columns)])
    previous = None
    for row in rows:
        if row.group != previous:
            previous = row.group
            label = next((g.label for g in table.groups if g.id == row.group), "")
            view.add_row(Text(label, style="italic"), *[""] * (len(columns) + 1))
        name = Text(f"{letters.get(row.id, ' ')} {row.label}")
        view.add_row(name, Text("print", style="dim"), *(printed.get((row.id, c.id), "–") for c in columns))
        view.add_row("", Text("ours", style="dim"), *(ours.get((row.id, c.id), "") for c in columns))
    return view


def _across(rows, columns, letters, printed, ours) -> RichTable:
    """Systems across, as print has a transposed table: print and ours side by side."""
    head = [""]
    for row in rows:
        head += [f"{letters.get(row.id, ' ')} {row.label}", "ours"]
    view = grid(head)
    for column in columns:
        line: list[Text | str] = [" ".join(column.head) or column.id]
        for row in rows:
            line += [printed.get((row.id, column.id), "–"), ours.get((row.id, column.id), "")]
        view.add_row(*line)
    return view


def _ours(compared: Compared, comparison: Comparison, letters: dict[str, str]) -> Text:
    style = STYLES[compared.verdict.name]
    if compared.measured is None:
        return Text(compared.verdict.name, style=style)
    beaten = "".join(letters.get(name, "") for name in comparison.betters(compared)).translate(SUPERSCRIPTS)
    text = Text(shown(compared.measured, compared.cell) + beaten, style=style)
    if compared.verdict.name != "scaled":
        text.append(f" {compared.verdict.name}", style=f"{style} italic")
    return text
