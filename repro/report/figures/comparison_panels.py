"""Published and measured numbers of a table's systems, a panel for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repro.errors import UsageError
from repro.judging.compared import Compared
from repro.manifest.schema import Column
from repro.report.figures.canvas import COLOURS, GREY
from repro.report.grid import Grid, column_heads, compared_grid, label_in_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def panels(cells: Sequence[Compared]) -> list[Axes]:
    """Draw the cells of one table: systems downwards, numbers across; with their intervals over queries.

    The figure is pyplot's, so that a notebook shows it. Raises UsageError where the cells are of no table, or
    of several.
    """
    tables = list(dict.fromkeys(f"{c.cell.paper.name}/{c.cell.table.id}" for c in cells))
    if len(tables) != 1:
        among = f"; these are of {', '.join(tables)}" if tables else ""
        raise UsageError(f"a plot shows the cells of one table{among}")
    import matplotlib.pyplot as plt

    grid = compared_grid(cells)
    shape = (2.2 + 1.9 * len(grid.columns), 1.1 + 0.24 * len(grid.rows))
    figure, axes = plt.subplots(
        1, len(grid.columns), sharey=True, squeeze=False, figsize=shape, layout="constrained"
    )
    heads = column_heads(grid.columns)
    for place, column, head in zip(axes.flat, grid.columns, heads, strict=True):
        _panel(place, grid, column)
        place.set_title(f"{head.label}\n({grid.cells[grid.rows[0].id, column.id].cell.unit})", fontsize=9)
    labels = [label_in_full(grid.table, row) for row in grid.rows]
    axes.flat[0].set_yticks(range(len(labels)), labels)
    axes.flat[0].invert_yaxis()
    figure.suptitle(f"{tables[0]}, scale {cells[0].scale}", fontsize=10)
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return list(axes.flat)


def _panel(axes: Axes, grid: Grid[Compared], column: Column) -> None:
    """One column: hollow circles as published, full ones as measured, lines for intervals over queries."""
    shown = [(n, c) for n, row in enumerate(grid.rows) if (c := grid.cells.get((row.id, column.id)))]
    published = [(float(c.cell.printed.value), n) for n, c in shown if c.cell.printed.value is not None]
    measured = [(c.measured, n) for n, c in shown if c.measured is not None]
    for points, label, face in ((published, "published", "none"), (measured, "measured", COLOURS[0])):
        edge = GREY if face == "none" else face
        axes.scatter(
            *zip(*points, strict=True) if points else ((), ()), 26, face, edgecolors=edge, label=label
        )
    for n, c in shown:
        if c.interval:
            axes.hlines(n, c.interval.low, c.interval.high, color=COLOURS[0], linewidth=1)
    axes.grid(axis="x", linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)
