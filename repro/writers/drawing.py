"""Draw figures from measured cells and stored exhibits, e.g. ``PAPER-figure2.svg``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import UsageError
from repro.manifest.cells import figure_of
from repro.manifest.schema import Column, Figure, Line
from repro.retrieval.evaluation.p_values import unpaired_t_test
from repro.running.plan import Plan
from repro.store import Store, seal
from repro.verdicts import summary
from repro.verdicts.compared import ComparedCell
from repro.writers import figures
from repro.writers.figures.charts import COLOURS, GREY, legend_handles
from repro.writers.grid import compared_grid, label_in_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_curves(
    compared: Sequence[ComparedCell], folder: Path, *, hours: Mapping[str, float]
) -> Iterator[Path]:
    """Draw measured figures as SVG and CSV. Yields SVG paths. ``hours`` maps cell ids to training hours."""
    cells = [c for c in compared if c.cell.table.kind == "figure"]
    for (name, identifier), group in groupby(cells, key=lambda c: (c.cell.paper.name, c.cell.table.id)):
        points = list(group)
        if any(c.measured is not None for c in points):
            path = folder / f"{name}-{identifier.replace('-', '')}.svg"
            figure = figure_of(points[0].cell.paper, identifier.removeprefix("figure-"))
            panels = _panels(figure, points, hours)
            note = "; ".join(filter(None, (*_notes(figure, points), *_tests(figure, panels))))
            figures.curves(panels, path, note=note)
            yield path


def _notes(figure: Figure, points: Sequence[ComparedCell]) -> Iterator[str]:
    readings = {k: v for c in points for r in c.records for k, v in r.readings.items()}
    how = summary.conditions(points)
    yield from (_note(points[0].scale, readings), how, _shared_note(points) if how else "")
    yield f"in brackets: {figure.across}" if figure.across else ""


def _shared_note(points: Sequence[ComparedCell]) -> str:
    measured = [c for c in points if c.measured is not None and c.cell.row.with_]
    number = len({(c.cell.column.id, c.measurement) for c in measured})
    shared = f"{len(measured)} points are {number} measurements at this scale"
    return "" if number == len(measured) else shared


def _tests(figure: Figure, panels: list[dict]) -> Iterator[str]:
    if figure.test is None or figure.test.kind != "t":
        return
    for panel in panels:
        if len(panel["series"]) == 2:
            first, second = ([point[1] for point in series["points"]] for series in panel["series"])
            test = unpaired_t_test(first, second)
            if test:
                result = f"t({test.degrees}) = {test.statistic:.2f}, p = {test.p:.2g}, unpaired, two sides"
                yield f"{panel['y_label']}, {' against '.join(s['label'] for s in panel['series'])}: {result}"


def _panels(figure: Figure, points: list[ComparedCell], hours: Mapping[str, float]) -> list[dict]:
    panels = []
    for column, title, lines in _lines_by_panel(figure):
        series = []
        for line in lines:
            line_points = [c for c in points if (c.cell.column.id, c.cell.row.group) == (column.id, line.id)]
            if measured := [c for c in line_points if c.measured is not None]:
                made = [_point_facts(c, hours) for c in measured]
                line_facts = {"label": line.method or line.label, "made": made}
                series.append(line_facts | {"points": [_point(c, line.over) for c in measured]})
        names = {"title": title, "x_label": figure.x or "", "y_label": column.head[-1]}
        panels.append(names | {"series": series})
    return panels


def _lines_by_panel(figure: Figure) -> Iterator[tuple[Column, str, list[Line]]]:
    sizes = dict.fromkeys(line.with_[figure.across] for line in figure.lines if figure.across in line.with_)
    for column in figure.panels:
        if not sizes:
            yield column, column.head[0], list(figure.lines)
        for size in sizes:
            lines = [line for line in figure.lines if line.with_.get(figure.across, size) == size]
            yield column, f"{column.head[0]} ({size:,g})", lines


def _point(c: ComparedCell, option: str | None) -> tuple[float | None, float, float | None, float | None]:
    x = None if option is None else float(c.cell.row.with_[option])
    values = [r.measured for r in c.records]
    spread = (min(values), max(values)) if len(values) > 1 else (None, None)
    return (x, c.measured, *spread)


def _point_facts(c: ComparedCell, hours: Mapping[str, float]) -> tuple[str, str, str, str]:
    seeds = (r.seed for r in c.records if r.seed is not None)
    commits = filter(None, {r.environment.get("commit") for r in c.records})
    duration = hours.get(c.cell.id)
    time = "" if duration is None else f"{duration:.4f}"
    return " ".join(map(str, seeds)), " ".join(sorted(commits)), time, summary.doubt_kinds(c)


def draw_exhibits(plan: Plan, store: Store, folder: Path) -> Iterator[Path]:
    """Draw the plan's stored exhibits, together for each table or figure, and yield the paths."""
    for (name, owner), group in groupby(plan.exhibits, key=lambda s: (s.paper.name, s.owner)):
        stored_exhibits = [s for s in group if plan.states[plan.exhibits[s].fingerprint] == "stored"]
        departures = {k: v for s in stored_exhibits for k, v in plan.departures[s].items()}
        exhibits = [seal.read_json(store.path(plan.exhibits[s]) / "exhibit.json") for s in stored_exhibits]
        pairs = list(zip((s.exhibit.label for s in stored_exhibits), exhibits, strict=True))
        if pairs:
            place = f"table{owner}" if not owner.startswith("figure-") else owner.replace("-", "")
            yield from _draw(pairs, folder / f"{name}-{place}", _note(plan.scale.name, departures))


def _draw(pairs: list[tuple[str, dict]], stem: Path, note: str) -> Iterator[Path]:
    writers = {"scatter": (figures.scatter, ".svg"), "passages": (figures.passages, ".md")}
    kind = pairs[0][1]["kind"]
    if kind in writers:
        draw, suffix = writers[kind]
        draw(pairs, stem.with_suffix(suffix), note=note)
        yield stem.with_suffix(suffix)
    else:
        for number, (_, exhibit) in enumerate(pairs, 1):
            path = stem.with_name(f"{stem.name}{'' if len(pairs) == 1 else f'-{number}'}.html")
            figures.shaded_words(exhibit, path, note=note)
            yield path


def _note(scale: str, departures: dict[str, str]) -> str:
    notes = [] if scale == "full" else [f"measured at scale {scale}"]
    return "; ".join(notes + [f"{reading}: {choice}" for reading, choice in sorted(departures.items())])


MOST_ACROSS = 5


def panels(cells: Sequence[ComparedCell]) -> list[Axes]:
    """Plot a table's cells, a panel per column. Raises UsageError unless there is one table."""
    tables = list(dict.fromkeys(f"{c.cell.paper.name}/{c.cell.table.id}" for c in cells))
    if len(tables) != 1:
        names = f", not of {', '.join(tables)}" if tables else ""
        raise UsageError(f"a plot shows the cells of one table{names}")
    grid = compared_grid(cells)
    axes = _axes(len(grid.columns), lines=len(grid.rows))
    for panel, column in zip(axes, grid.columns, strict=True):
        for place, row in enumerate(grid.rows):
            if cell := grid.cells.get((row.id, column.id)):
                _draw_cell(panel, place, cell)
        panel.grid(axis="x", linewidth=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_title("\n".join(column.head or (column.id,)), fontsize=9)
    axes[0].set_yticks(range(len(grid.rows)), [label_in_full(grid.table, row) for row in grid.rows])
    axes[0].invert_yaxis()
    caveat = "" if cells[0].scale == "full" else ": not the data of the published numbers"
    doubts = summary.doubts_in_brief(cells, lead="measured numbers in doubt")
    title = f"{tables[0]}, scale {cells[0].scale}{caveat}"
    axes[0].figure.suptitle("\n".join(filter(None, [title, doubts])), fontsize=10)
    handles, look = legend_handles(axes[0].figure), {"ncols": 3, "frameon": False, "fontsize": 9}
    axes[0].figure.legend(handles.values(), handles, loc="outside lower center", **look)
    return axes


def _axes(panels: int, *, lines: int) -> list[Axes]:
    import matplotlib.pyplot as plt

    columns = min(panels, MOST_ACROSS)
    rows = -(-panels // columns)
    size = (2.2 + 1.9 * columns, 1.1 + rows * (0.4 + 0.24 * lines))
    _, grid = plt.subplots(rows, columns, sharey=True, squeeze=False, figsize=size, layout="constrained")
    for unused in list(grid.flat)[panels:]:
        unused.remove()
    return list(grid.flat)[:panels]


def _draw_cell(axes: Axes, place: int, cell: ComparedCell) -> None:
    looks: dict[str, Any] = {
        "published": {"s": 44, "facecolors": "none", "edgecolors": GREY, "linewidths": 1},
        "measured": {"s": 20, "color": COLOURS[0]},
        "run by others": {"s": 24, "color": COLOURS[1], "marker": "x", "linewidths": 1},
    }
    numbers = [("published", cell.published), ("measured", cell.measured)]
    for label, number in [*numbers, *(("run by others", run.measured) for run in cell.imported)]:
        if number is not None:
            axes.scatter(number, place, label=label, **looks[label])
    if cell.interval:
        axes.hlines(place, cell.interval.low, cell.interval.high, color=COLOURS[0], linewidth=1)
