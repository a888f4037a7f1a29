"""Published and measured numbers of a table's systems, a panel for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from repro.errors import UsageError
from repro.verdicts.compared import ComparedCell
from repro.verdicts.summary import doubts_in_brief
from repro.writers.figures.canvas import COLOURS, GREY
from repro.writers.grid import compared_grid, label_in_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ACROSS = 5


def panels(cells: Sequence[ComparedCell]) -> list[Axes]:
    """Draw the cells of one table: systems downwards, numbers across; with their intervals over queries.

    The figure is pyplot's, so that a notebook shows it. Raises UsageError where the cells are of no table, or
    of several.
    """
    tables = list(dict.fromkeys(f"{c.cell.paper.name}/{c.cell.table.id}" for c in cells))
    if len(tables) != 1:
        names = f"; these are of {', '.join(tables)}" if tables else ""
        raise UsageError(f"a plot shows the cells of one table{names}")
    grid = compared_grid(cells)
    axes = _axes(len(grid.columns), lines=len(grid.rows))
    for place, column in zip(axes, grid.columns, strict=True):
        _panel(place, [grid.cells.get((row.id, column.id)) for row in grid.rows])
        place.set_title("\n".join(column.head or (column.id,)), fontsize=9)
    axes[0].set_yticks(range(len(grid.rows)), [label_in_full(grid.table, row) for row in grid.rows])
    axes[0].invert_yaxis()
    caveat = "" if cells[0].scale == "full" else ": other data than the published numbers are of"
    doubts = doubts_in_brief(cells, lead="doubtful of the measured")
    title = f"{tables[0]}, scale {cells[0].scale}{caveat}"
    axes[0].figure.suptitle("\n".join(filter(None, [title, doubts])), fontsize=10)
    handles = {n: h for place in axes for h, n in zip(*place.get_legend_handles_labels(), strict=True)}
    axes[0].figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9
    )
    return axes


def _axes(panels: int, *, lines: int) -> list[Axes]:
    """Axes that share the systems, ``MOST_ACROSS`` beside each other."""
    import matplotlib.pyplot as plt

    columns = min(panels, MOST_ACROSS)
    rows = -(-panels // columns)
    size = (2.2 + 1.9 * columns, 1.1 + rows * (0.4 + 0.24 * lines))
    _, grid = plt.subplots(rows, columns, sharey=True, squeeze=False, figsize=size, layout="constrained")
    for unused in list(grid.flat)[panels:]:
        unused.remove()
    return list(grid.flat)[:panels]


def _panel(axes: Axes, column: Sequence[ComparedCell | None]) -> None:
    """Rings as published, dots as measured with intervals over queries, crosses as others ran it."""
    for place, cell in enumerate(column):
        if cell is not None:
            _draw(axes, place, cell)
    axes.grid(axis="x", linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _draw(axes: Axes, place: int, cell: ComparedCell) -> None:
    ring: dict[str, Any] = {
        "s": 44,
        "facecolors": "none",
        "edgecolors": GREY,
        "linewidths": 1,
        "label": "published",
    }
    dot: dict[str, Any] = {"s": 20, "color": COLOURS[0], "label": "measured"}
    cross: dict[str, Any] = {
        "s": 24,
        "color": COLOURS[1],
        "marker": "x",
        "linewidths": 1,
        "label": "run by others",
    }
    numbers = [(cell.published, ring), (cell.measured, dot), *((r.measured, cross) for r in cell.imported)]
    for number, look in numbers:
        if number is not None:
            axes.scatter(number, place, **look)
    if cell.interval:
        axes.hlines(place, cell.interval.low, cell.interval.high, color=COLOURS[0], linewidth=1)
