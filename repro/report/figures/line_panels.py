"""Lines over an axis in the shape of a slide, with their names at their ends or in a legend."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.report.figures.canvas import LINES
from repro.report.figures.slide import Theme, label_ends, marker, slide


@dataclass(frozen=True)
class Place:
    """A point of a line: its mean with the lowest and highest, whether its mark is hollow, and its doubts."""

    x: float
    y: float
    low: float
    high: float
    hollow: bool = False
    doubts: str = ""


@dataclass(frozen=True)
class Lines:
    """One panel.

    Attributes:
        of: (name, its points from left to right) of each line.
        levels: (name, score) of each level line.
        ticks: where the axis has numbers; None leaves it to the drawing.
    """

    title: str
    below: str
    of: Sequence[tuple[str, Sequence[Place]]]
    levels: Sequence[tuple[str, float]] = ()
    ticks: Sequence[float] | None = None


def line_panels(
    panels: Sequence[Lines],
    path: Path,
    theme: Theme,
    *,
    title: str,
    small: str,
    across: int = 2,
    at_ends: bool = True,
    share_y: bool = False,
) -> None:
    """Draw the panels; a name has one colour, shape and dash in all of them.

    Args:
        at_ends: whether names stand at the ends of lines, or in a legend.
    """
    names = list(dict.fromkeys(name for panel in panels for name, _ in (*panel.of, *panel.levels)))
    shape = {"panels": len(panels), "across": across, "share_y": share_y}
    with slide(path, theme, title=title, small=small, **shape) as grid:
        pairs = list(zip(grid, panels, strict=True))
        ends = [_panel(axes, panel, names, theme, named=not at_ends) for axes, panel in pairs]
        for axes, panel_ends in zip(grid, ends, strict=True):
            if at_ends:
                label_ends(axes, panel_ends, theme)


def _panel(axes, panel: Lines, names: Sequence[str], theme: Theme, *, named: bool) -> list[tuple]:
    """Draw a panel, ``named`` for a legend, and return where its lines end."""
    ends = []
    for name, score in panel.levels:
        look = _look(names.index(name), theme)
        axes.axhline(score, label=name if named else None, **look)
        ends.append((score, name, look["color"]))
    for name, places in panel.of:
        number = names.index(name)
        _line(axes, places, number, theme, label=name if named else None, mark=3.5 if named else 6)
        ends.append((places[-1].y, name, theme.colour(number)))
    axes.set_title(panel.title)
    axes.set_xlabel(panel.below)
    axes.grid(axis="y", linewidth=0.4, color=theme.band)
    _scale(axes, panel, limit=4 if named else 8)
    return ends


def _line(
    axes, places: Sequence[Place], number: int, theme: Theme, *, label: str | None, mark: float
) -> None:
    """Draw a line with its marks, of ``mark`` points, and from lowest to highest at each."""
    look, x = _look(number, theme), [p.x for p in places]
    axes.plot(x, [p.y for p in places], marker=marker(number), markersize=mark, label=label, **look)
    axes.vlines(x, [p.low for p in places], [p.high for p in places], color=look["color"], linewidth=1)
    rings = [p for p in places if p.hollow]
    ring_look = {"facecolors": theme.ground, "edgecolors": look["color"], "marker": marker(number)}
    axes.scatter([p.x for p in rings], [p.y for p in rings], s=mark**2, zorder=3, **ring_look)


def _look(number: int, theme: Theme) -> dict:
    return {"color": theme.colour(number), "linestyle": LINES[number % len(LINES)], "linewidth": 1.6}


def _scale(axes, panel: Lines, *, limit: int) -> None:
    """Few ticks upwards; across, ``limit`` of the panel's, on a logarithmic axis where they span much."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.margins(y=0.1)
    places = sorted({p.x for _, line in panel.of for p in line})
    ticks = places if panel.ticks is None else list(panel.ticks)
    if places:
        _stretch(axes, places)
    ticks = ticks[:: -(-len(ticks) // limit) or 1]
    axes.set_xticks(ticks, [_format_tick(tick) for tick in ticks])


def _stretch(axes, places: Sequence[float]) -> None:
    """Make the axis logarithmic where its places span much; from 0, beyond the first above it."""
    from matplotlib.ticker import NullLocator

    if places[0] > 0 and places[-1] / places[0] >= 5:
        axes.set_xscale("log")
    elif places[0] == 0 and len(places) > 2 and places[-1] / places[1] >= 5:
        axes.set_xscale("symlog", linthresh=places[1], linscale=0.5)
    else:
        return
    axes.xaxis.set_minor_locator(NullLocator())


def _format_tick(tick: float) -> str:
    """Round thousands as k, as four digits beside each other would run together."""
    return f"{tick / 1000:g}k" if tick >= 1000 and tick % 100 == 0 else f"{tick:g}"
