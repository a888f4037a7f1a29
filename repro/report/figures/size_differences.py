"""Differences of methods to a reference at several sizes, and what is predicted of a larger one."""

from collections.abc import Sequence
from pathlib import Path

from repro.judging.size_trends import MethodTrend, Size
from repro.report.figures.canvas import COLOURS, GREY, MARKERS, canvas, foot, legend

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
