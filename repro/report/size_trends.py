"""The page, the tables and the drawing of a figure's trend over sizes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.judging.compared import ComparedCell
from repro.judging.order_agreement import Order, orders
from repro.judging.size_trends import Interval, MethodTrend, Run, method_trends
from repro.manifest.schema import Column, Figure
from repro.manifest.size_trend import SizeTrend
from repro.report.figures.canvas import write_csv
from repro.report.figures.size_differences import size_differences, size_name

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
    """The differences at every size and beyond: a drawing, two tables, sentences; without a fit, nothing.

    Args:
        points: the figure's cells.
        path: of the figure's own drawing, whose name these begin with.
        note: small print.
    """
    every = panel_trends(figure, points)
    if figure.trend is None or not any(panel.methods for panel in every):
        return
    stem = path.with_suffix("")
    drawing, order, page = (
        stem.with_name(stem.name + end) for end in ("-trend.svg", "-order.svg", "-trend.md")
    )
    larger = (figure.trend.to.x, figure.trend.to.across)
    panels = [(panel.names, panel.methods) for panel in every]
    size_differences(panels, drawing, reference=figure.trend.reference, larger=larger, note=note)
    write_csv(drawing, TREND, [row for panel in every for row in _trend_rows(panel, figure.trend)])
    write_csv(order, ORDER, [row for panel in every for row in _order_rows(panel)])
    page.write_text(markdown(figure, every), encoding="utf-8")
    yield from (drawing, page)


def panel_trends(figure: Figure, points: Sequence[ComparedCell]) -> list[PanelTrends]:
    """The trends of every panel of a figure that has them."""
    if figure.trend is None:
        return []
    larger, panels = (figure.trend.to.x, figure.trend.to.across), []
    for column in figure.panels:
        runs = _runs(figure, [c for c in points if c.cell.column.id == column.id])
        level = {line.method for line in figure.lines if line.method and not line.over}
        fitted = [run for run in runs if run.method not in level - {figure.trend.reference}]
        trends = method_trends(fitted, figure.trend.reference, larger)
        panels.append(PanelTrends(column, trends, orders(runs)))
    return panels


def _runs(figure: Figure, points: Sequence[ComparedCell]) -> list[Run]:
    """Every run of a panel; those of a level line stand at each place of the x-axis."""
    lines = {line.id: line for line in figure.lines if line.method}
    runs = []
    for compared in points:
        line = lines.get(compared.cell.row.group or "")
        if line:
            options = compared.cell.row.with_
            places = [options[line.over]] if line.over else figure.points
            sizes = [(float(x), float(options[figure.trend.across])) for x in places]
            runs += [Run(line.method, s, r.seed, r.measured) for r in compared.records for s in sizes]
    return runs


def _trend_rows(panel: PanelTrends, how: SizeTrend) -> Iterator[tuple]:
    for trend in panel.methods:
        names = (*panel.names, trend.method, how.reference)
        for size, mean in trend.means.items():
            yield *names, *size, "difference", mean, "", "", trend.runs
        for name, slope in zip(("x", how.across), trend.doublings, strict=True):
            yield *names, "", "", f"doubling of {name}", slope.value, slope.low, slope.high, trend.runs
        there = trend.extrapolated
        yield *names, how.to.x, how.to.across, "extrapolated", there.value, there.low, there.high, trend.runs


def _order_rows(panel: PanelTrends) -> Iterator[tuple]:
    for order in panel.orders:
        tau = ("" if order.tau is None else order.tau, *(order.bounds or ("", "")))
        yield *panel.names, *order.smaller, *order.larger, *tau, order.methods, order.seeds


def markdown(figure: Figure, panels: Sequence[PanelTrends]) -> str:
    """Sentences for every panel, below what they rest on."""
    how = figure.trend
    unit = ", in points of a hundred" if figure.unit == "percent" else ""
    lines = [
        f"Sizes are written as x / {how.across}; x: {figure.x}. Differences are to {how.reference}, seed by"
        f" seed{unit}. Brackets are 95 % intervals of a least-squares plane over the logarithms of both; the"
        f" last ones are prediction intervals of one more run. All of this is exploratory: the queries are"
        f" held as they are, nothing is corrected, and runs count as independent, though those of a seed may"
        f" share their start. Each plane, of three numbers, is fitted to {_counts(panels)} runs. Level lines,"
        f" whose runs are the same at every x, are ranked and not fitted. {warning(figure)}",
    ]
    for panel in panels:
        lines += ["", f"**{', '.join(panel.names)}**", ""]
        lines += [f"- {sentence(trend, how)}" for trend in panel.methods]
        lines += [f"- {of_orders}" for of_orders in _order_sentences(panel.orders)]
    return "\n".join([*lines, ""])


def _counts(panels: Sequence[PanelTrends]) -> str:
    """How many differences the trends of panels are fitted to."""
    counts = sorted({trend.runs for panel in panels for trend in panel.methods})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))


def warning(figure: Figure) -> str:
    """Say what the number of values of each size leaves untested."""
    across = {line.with_[figure.trend.across] for line in figure.lines if line.method}
    if min(len(across), len(figure.points)) > 2:
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
    above = sum(mean > 0 for mean in trend.means.values())
    there, (by_x, by_across) = trend.extrapolated, trend.doublings
    return (
        f"{trend.method}: above {how.reference} at {above} of {len(trend.means)} sizes,"
        f" {_signed(trend.means[largest])} at {size_name(largest)};"
        f" a doubling of x adds {_with_interval(by_x)}, of {how.across} {_with_interval(by_across)};"
        f" at {size_name((how.to.x, how.to.across))}"
        f" {_with_interval(there)}: {_conclusion(there, how.reference)}."
    )


def _conclusion(there: Interval, reference: str) -> str:
    places = {1: f"above {reference}", -1: f"below {reference}", 0: "its sign cannot be told"}
    return places[there.sign]


def _order_sentences(every: Sequence[Order]) -> Iterator[str]:
    """A sentence on the smallest and the largest size, which the others lie between."""
    ends = [order for order in every if order.tau is not None]
    if ends:
        order = max(ends, key=lambda o: (o.larger, [-number for number in o.smaller]))
        sizes = f"{size_name(order.smaller)} and at {size_name(order.larger)}"
        seeds = f"{order.seeds} seed{'' if order.seeds == 1 else 's'}"
        interval = f"no interval over {seeds}"
        if order.bounds:
            interval = f"95 % over {seeds}, {order.bounds[0]:.2f} to {order.bounds[1]:.2f}"
        yield (f"Order of {order.methods} methods at {sizes}: Kendall's tau {order.tau:.2f} ({interval}).")


def _signed(value: float) -> str:
    return f"{value:+z.1f}".replace("-", "−")


def _with_interval(interval: Interval) -> str:
    return f"{_signed(interval.value)} ({_signed(interval.low)} to {_signed(interval.high)})"
