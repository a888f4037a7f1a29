"""Whether an order of methods holds as models and budgets grow: fitted, extrapolated, drawn and put in words.

A method's difference to a reference, seed by seed, is fitted by least squares as a plane over the base-2
logarithms of both sizes. The intervals are those of the normal linear model (Montgomery, Peck and Vining
2012, Introduction to Linear Regression Analysis, sections 3.4 and 3.5): runs are taken as independent of each
other, of one variance, and the plane as true. Of its shape two values of a size say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import log2, sqrt
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from repro.manifest.schema import Column, Figure, SizeTrend
from repro.verdicts.compared import ComparedCell
from repro.writers.figures.canvas import COLOURS, GREY, MARKERS, canvas, foot, legend, write_csv

if TYPE_CHECKING:
    import numpy as np


CONFIDENCE = 0.95

Size = tuple[float, float]
Seed = int | None


@dataclass(frozen=True)
class Run:
    """The score of one method at one size, trained with one seed."""

    method: str
    size: Size
    seed: Seed
    score: float


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where all of the interval is above or below zero, else 0."""
        return (self.low > 0) - (self.high < 0)


@dataclass(frozen=True)
class MethodTrend:
    """The growth of one method's difference to the reference.

    Attributes:
        means: size -> mean difference over seeds.
        doublings: what a doubling of each size adds to the difference.
        extrapolated: the difference that one more run, with a seed of its own, would have at the larger
            size: a prediction interval.
        runs: pairs of runs that were fitted.
        deviation: the residuals' standard deviation; ``freedom`` its degrees of freedom.
    """

    method: str
    means: Mapping[Size, float]
    doublings: tuple[Interval, Interval]
    extrapolated: Interval
    runs: int
    deviation: float
    freedom: int


def method_trends(runs: Sequence[Run], reference: str, larger: Size) -> list[MethodTrend]:
    """Each method's trend; left out are those with too few seeds or sizes to fit a plane and its error."""
    methods = dict.fromkeys(run.method for run in runs if run.method != reference)
    trends = (_trend(method, _differences(runs, method, reference), larger) for method in methods)
    return [trend for trend in trends if trend]


def _differences(runs: Sequence[Run], method: str, reference: str) -> list[tuple[Size, float]]:
    """Size and difference of every run of a method to the reference's of the same size and seed."""
    base = {(run.size, run.seed): run.score for run in runs if run.method == reference}
    method_runs = (run for run in runs if run.method == method and (run.size, run.seed) in base)
    return [(run.size, run.score - base[run.size, run.seed]) for run in method_runs]


def _trend(method: str, differences: Sequence[tuple[Size, float]], larger: Size) -> MethodTrend | None:
    import numpy as np
    from scipy.stats import t

    design = np.array([_terms(size, larger) for size, _ in differences]).reshape(-1, 3)
    freedom = len(design) - 3
    if freedom < 1 or np.linalg.matrix_rank(design) < 3:
        return None
    values = np.array([value for _, value in differences])
    coefficients, *_ = np.linalg.lstsq(design, values)
    deviation = float(np.linalg.norm(values - design @ coefficients)) / sqrt(freedom)
    unscaled = np.linalg.inv(design.T @ design)  # times the variance: that of the coefficients
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, freedom))
    # `larger` is the origin, so that the constant is the plane's value there; a run has a variance besides
    spreads = np.sqrt(np.diag(unscaled + np.diag([1.0, 0.0, 0.0]))) * deviation * quantile
    bounds = np.column_stack([coefficients, coefficients - spreads, coefficients + spreads]).tolist()
    constant, by_x, by_across = (Interval(*row) for row in bounds)
    return MethodTrend(
        method, _means(differences), (by_x, by_across), constant, len(design), deviation, freedom
    )


def _means(differences: Sequence[tuple[Size, float]]) -> dict[Size, float]:
    """Size -> mean over its runs."""
    by_size: dict[Size, list[float]] = {}
    for size, value in differences:
        by_size.setdefault(size, []).append(value)
    return {size: fmean(values) for size, values in by_size.items()}


def _terms(size: Size, larger: Size) -> tuple[float, float, float]:
    """A row of the design: a constant, and by how many doublings the sizes are from the larger ones."""
    return 1.0, log2(size[0] / larger[0]), log2(size[1] / larger[1])


Scores = Mapping[str, Mapping[Seed, float]]  # method -> seed -> score
ALL_DRAWS = 4096  # up to so many are gone through, else so many are drawn
FEWEST_SEEDS = 3  # of an interval
PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class Order:
    """The agreement of the orders at two sizes.

    Attributes:
        tau: Kendall's tau-b of the means over seeds. None where the scores of one size are all alike.
        bounds: of its 95 % interval, the bootstrap's over seeds, which few seeds make too narrow; None
            below three.
        methods, seeds: how many were ranked, and drawn from.
    """

    smaller: Size
    larger: Size
    tau: float | None
    methods: int
    seeds: int
    bounds: tuple[float, float] | None = None


def orders(runs: Sequence[Run]) -> list[Order]:
    """The agreement of every pair of sizes, over the methods and seeds that both have."""
    sizes = sorted({run.size for run in runs})
    return [_order(runs, one, other) for one, other in combinations(sizes, 2)]


def _order(runs: Sequence[Run], smaller: Size, larger: Size) -> Order:
    one, other = _scores(runs, smaller), _scores(runs, larger)
    methods = [method for method in one if method in other]
    seeds = [seed for seed in _seeds(one, methods) if seed in _seeds(other, methods)]
    tau = _tau(one, other, methods, seeds) if len(methods) > 1 and seeds else None
    value, bounds = tau or (None, None)
    return Order(smaller, larger, value, len(methods), len(seeds), bounds)


def _scores(runs: Sequence[Run], size: Size) -> dict[str, dict[Seed, float]]:
    scores: dict[str, dict[Seed, float]] = {}
    for run in runs:
        if run.size == size:
            scores.setdefault(run.method, {})[run.seed] = run.score
    return scores


def _seeds(scores: Scores, methods: Sequence[str]) -> list[Seed]:
    """The seeds of the first of the methods that all of them have."""
    return [
        seed for method in methods[:1] for seed in scores[method] if all(seed in scores[m] for m in methods)
    ]


def _tau(
    one: Scores, other: Scores, methods: Sequence[str], seeds: Sequence[Seed]
) -> tuple[float, tuple[float, float] | None] | None:
    """The tau of the means over seeds and the bounds of its interval."""
    import numpy as np

    draws = np.array([range(len(seeds)), *_draws(len(seeds))])  # (1 + D, S): the seeds themselves, then draws
    scores = [np.array([[size[m][seed] for m in methods] for seed in seeds]) for size in (one, other)]
    taus = tau_b(*(array[draws].mean(axis=1) for array in scores))  # (1 + D,)
    if np.isnan(taus[0]):
        return None
    if len(seeds) < FEWEST_SEEDS:
        return float(taus[0]), None
    low, high = np.nanpercentile(taus[1:], PERCENTILES)
    return float(taus[0]), (float(low), float(high))


def tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of the rows of two arrays, (D, M) -> (D,); NaN where a row is all alike."""
    import numpy as np

    pairs = np.triu_indices(one.shape[1], k=1)
    signs = [np.sign(rows[:, pairs[0]] - rows[:, pairs[1]]) for rows in (one, other)]  # (D, M (M - 1) / 2)
    untied_counts = [np.count_nonzero(sign, axis=1) for sign in signs]
    with np.errstate(invalid="ignore"):
        return (signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied_counts[0] * untied_counts[1])


def _draws(count: int) -> list[tuple[int, ...]]:
    """Every draw of as many with replacement, or where these are too many, some drawn by seed 0."""
    if count**count <= ALL_DRAWS:
        return list(product(range(count), repeat=count))
    random = Random(0)
    return [tuple(random.choices(range(count), k=count)) for _ in range(ALL_DRAWS)]


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
    """The trends of every panel of a figure that has them."""
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
    """Every run of a panel; those of a level line stand at each place of the x-axis."""
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
    """Sentences for every panel, below what they rest on."""
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
    """How many differences the trends of panels are fitted to."""
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
    """A sentence on the smallest and the largest size, which the others lie between."""
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
    """The numbers of a size, as a caption or a sentence has them."""
    return " / ".join(f"{number:,g}" for number in size)
