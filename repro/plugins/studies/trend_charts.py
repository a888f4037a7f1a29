"""The trends of a figure's methods over two sizes, drawn, as rows of tables and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.manifest.schema import Column, Figure, SizeTrend
from repro.plugins.studies.size_trends import Interval, MethodTrend, Order, Run, Size, method_trends, orders
from repro.verdicts.compared import ComparedCell
from repro.writers.figures.canvas import COLOURS, GREY, MARKERS, canvas, foot, legend, write_csv

TREND = ("panel", "measure", "method", "reference", "x", "size", "what", "value", "low", "high", "runs")
ORDER = ("panel", "measure", "x", "size", "larger x", "larger size", "tau", "low", "high", "methods", "seeds")


@dataclass(frozen=True)
class PanelTrends:
    """The trends of all methods in one panel's measure, and how well the orders at its sizes agree."""

    column: Column
    methods: Sequence[MethodTrend]
    orders: Sequence[Order]

    @property
    def names(self) -> tuple[str, str]:
        """The data's name and the measure's."""
        return self.column.head[0], self.column.head[-1]


def draw_trend(figure: Figure, points: Sequence[ComparedCell], path: Path, *, note: str) -> Iterator[Path]:
    """Yield the differences at every size and beyond: a drawing, two tables, sentences; without a fit,
    nothing.

    Args:
        points: the figure's cells.
        path: of the figure's own drawing, whose name these begin with.
        note: small print.
    """
    trends = panel_trends(figure, points)
    if figure.trend is None or not any(panel.methods for panel in trends):
        return
    stem = path.with_suffix("")
    drawing, order, page = (
        stem.with_name(stem.name + end) for end in ("-trend.svg", "-order.svg", "-trend.md")
    )
    larger = (figure.trend.to.x, figure.trend.to.across)
    panels = [(panel.names, panel.methods) for panel in trends]
    size_differences(panels, drawing, reference=figure.trend.reference, larger=larger, note=note)
    write_csv(drawing, TREND, [row for panel in trends for row in _trend_rows(panel, figure.trend)])
    write_csv(order, ORDER, [row for panel in trends for row in _order_rows(panel)])
    page.write_text(markdown(figure, trends), encoding="utf-8")
    yield from (drawing, page)


def panel_trends(figure: Figure, points: Sequence[ComparedCell]) -> list[PanelTrends]:
    """Return the trends of every panel of a figure that has them."""
    if figure.trend is None:
        return []
    larger, panels = (figure.trend.to.x, figure.trend.to.across), []
    for column in figure.panels:
        runs = _runs(figure, figure.trend, [c for c in points if c.cell.column.id == column.id])
        level_methods = {line.method for line in figure.lines if line.method and not line.over}
        fitted_runs = [run for run in runs if run.method not in level_methods - {figure.trend.reference}]
        trends = method_trends(fitted_runs, figure.trend.reference, larger)
        panels.append(PanelTrends(column, trends, orders(runs)))
    return panels


def _runs(figure: Figure, design: SizeTrend, points: Sequence[ComparedCell]) -> list[Run]:
    """Return every run of a panel; those of a level line stand at each place of the x-axis."""
    lines = {line.id: line for line in figure.lines if line.method}
    runs = []
    for point in points:
        line = lines.get(point.cell.row.group or "")
        if line:
            options = point.cell.row.with_
            places = [options[line.over]] if line.over else figure.points
            sizes = [(float(x), float(options[design.across])) for x in places]
            runs += [Run(line.method, s, r.seed, r.measured) for r in point.records for s in sizes]
    return runs


def _trend_rows(panel: PanelTrends, design: SizeTrend) -> Iterator[tuple]:
    for trend in panel.methods:
        names = (*panel.names, trend.method, design.reference)
        for size, mean in trend.means.items():
            yield *names, *size, "difference", mean, "", "", ""
        for name, slope in zip(("x", design.across), trend.doublings, strict=True):
            yield *names, "", "", f"doubling of {name}", slope.value, slope.low, slope.high, trend.runs
        interval = trend.extrapolated
        yield (
            *names,
            design.to.x,
            design.to.across,
            "extrapolated",
            interval.value,
            interval.low,
            interval.high,
            trend.runs,
        )


def _order_rows(panel: PanelTrends) -> Iterator[tuple]:
    for order in panel.orders:
        tau = ("" if order.tau is None else order.tau, *(order.bounds or ("", "")))
        yield *panel.names, *order.smaller, *order.larger, *tau, order.methods, order.seeds


def planned_trend(figure: Figure) -> SizeTrend:
    """Return the trend of a figure that has one."""
    assert figure.trend is not None, figure.id
    return figure.trend


def markdown(figure: Figure, panels: Sequence[PanelTrends]) -> str:
    """Return sentences for every panel, below what they rest on."""
    design = planned_trend(figure)
    unit = ", in points of a hundred" if figure.unit == "percent" else ""
    lines = [
        f"Sizes are written as x / {design.across}; x: {figure.x}. Differences are to {design.reference},"
        f" seed by seed{unit}. Brackets are 95 % intervals of a least-squares plane over the logarithms of"
        f" both; the last ones are prediction intervals of one more run. All of this is exploratory: the"
        f" queries are held as they are, nothing is corrected, and runs count as independent, though those of"
        f" a seed may share their start. Each plane, of three numbers, is fitted to {_counts(panels)} runs."
        f" Level lines, whose runs are the same at every x, are ranked and not fitted. {warning(figure)}",
    ]
    for panel in panels:
        lines += ["", f"**{', '.join(panel.names)}**", ""]
        lines += [f"- {sentence(trend, design)}" for trend in panel.methods]
        lines += [f"- {order_sentence}" for order_sentence in _order_sentences(panel.orders)]
    return "\n".join([*lines, ""])


def _counts(panels: Sequence[PanelTrends]) -> str:
    """Return how many differences the trends of panels are fitted to."""
    counts = sorted({trend.runs for panel in panels for trend in panel.methods})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))


def warning(figure: Figure) -> str:
    """Say what the number of values of each size leaves untested."""
    values = {line.with_[planned_trend(figure).across] for line in figure.lines if line.method}
    if min(len(values), len(figure.points)) > 2:
        return (
            "The extrapolation stands and falls with the plane, whose shape beyond these sizes is untested."
        )
    return (
        "Two values of a size fix a line through them and test nothing of its shape: the extrapolation stands"
        " and falls with a straight line in the logarithm, for or against which these runs say nothing."
    )


def sentence(trend: MethodTrend, how: SizeTrend) -> str:
    """Say where a method stands, how that changes with size, and what follows for the larger one."""
    largest = max(trend.means)
    count_above = sum(mean > 0 for mean in trend.means.values())
    extrapolation, (by_x, by_across) = trend.extrapolated, trend.doublings
    return (
        f"{trend.method}: a higher mean than {how.reference}, untested, at {count_above} of"
        f" {len(trend.means)} sizes, {_add_sign(trend.means[largest])} at {size_name(largest)};"
        f" twice the x makes {_format_interval(by_x)}, twice the {how.across} {_format_interval(by_across)};"
        f" at {size_name((how.to.x, how.to.across))}"
        f" {_format_interval(extrapolation)}: {_conclusion(extrapolation, how.reference)}."
    )


def _conclusion(interval: Interval, reference: str) -> str:
    places = {1: f"all above {reference}", -1: f"all below {reference}", 0: "its sign cannot be told"}
    return places[interval.sign]


def _order_sentences(size_orders: Sequence[Order]) -> Iterator[str]:
    """Yield a sentence on the smallest and the largest size, which the others lie between."""
    with_tau = (o for o in size_orders if o.tau is not None)
    order = max(with_tau, key=lambda o: (o.larger, [-number for number in o.smaller]), default=None)
    if order is not None and order.tau is not None:
        sizes = f"{size_name(order.smaller)} and at {size_name(order.larger)}"
        seeds = f"{order.seeds} seed{'' if order.seeds == 1 else 's'}"
        interval = f"no interval over {seeds}"
        if order.bounds:
            interval = f"95 % over {seeds}, {_format_tau(order.bounds[0])} to {_format_tau(order.bounds[1])}"
        tau = _format_tau(order.tau)
        yield (f"Order of {order.methods} methods at {sizes}: Kendall's tau {tau} ({interval}).")


def _add_sign(value: float) -> str:
    return f"{value:+z.1f}".replace("-", "−")


def _format_tau(tau: float) -> str:
    return f"{tau:z.2f}".replace("-", "−")


def _format_interval(interval: Interval) -> str:
    return f"{_add_sign(interval.value)} ({_add_sign(interval.low)} to {_add_sign(interval.high)})"


WIDE = 5.2  # inches: names of methods and of sizes stand beside and above the panels
Panel = tuple[tuple[str, str], Sequence[MethodTrend]]  # the names of its data and measure


def size_differences(panels: Sequence[Panel], path: Path, *, reference: str, larger: Size, note: str) -> None:
    """Methods downwards, differences across: a mark a size, the prediction interval at ``larger`` a bar.

    Args:
        path: of the SVG.
        note: small print on the face of it; empty for none.
    """
    methods = list(dict.fromkeys(trend.method for _, trends in panels for trend in trends))
    sizes = sorted({size for _, trends in panels for trend in trends for size in trend.means})
    with canvas(path, panels=len(panels), panel_height=0.5 + 0.22 * len(methods), width=WIDE) as (
        figure,
        grid,
    ):
        for place, (axes, ((data, measure), trends)) in enumerate(zip(grid, panels, strict=True)):
            for trend in trends:
                _method(axes, methods.index(trend.method), trend, sizes, larger)
            axes.axvline(0, color=GREY, linewidth=0.6)
            axes.set(title=f"{data}\n{measure}", ylim=(len(methods) - 0.5, -0.5))
            axes.set_yticks(range(len(methods)), methods if place % 2 == 0 else [""] * len(methods))
        legend(figure, handle_length=1.0)
        foot(figure, f"difference to {reference}", note)


def _method(axes, place: int, trend: MethodTrend, sizes: Sequence[Size], larger: Size) -> None:
    interval = trend.extrapolated
    axes.hlines(place, interval.low, interval.high, color=GREY, linewidth=1)
    look = {"linestyle": "", "markersize": 4}
    axes.plot(interval.value, place, marker="|", color=GREY, label=f"{size_name(larger)}, predicted", **look)
    for number, size in enumerate(sizes):
        if size in trend.means:
            colour, mark = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            axes.plot(trend.means[size], place, marker=mark, color=colour, label=size_name(size), **look)


def size_name(size: Size) -> str:
    """Return the numbers of a size, as a caption or a sentence has them."""
    return " / ".join(f"{number:,g}" for number in size)
