"""Drawings in the shape of a slide, for a light or a dark ground, from the lines of their CSV."""

from __future__ import annotations

import html
import statistics
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from repro.verdicts.compared import ComparedCell
from repro.writers.figures.canvas import LINES, MARKERS, drawing, write_csv

LEFT, LINE, LETTERS = 0.012, 0.034, 130  # of the figure: its margin, a line of text; letters in such a line
SMALL, ACROSS = 9.5, 5  # points of small print; names in a line of a legend
APART = 0.055  # of an axis: labels at lines stand no nearer


class Theme(NamedTuple):
    """The colours of a drawing; ``lines`` are Okabe and Ito's, as dark or as light as the ground asks."""

    ground: str
    ink: str
    soft: str
    band: str
    lines: Sequence[str]

    def look(self, number: int) -> dict:
        """Return colour, dash and width of the n-th line."""
        return {"color": self.lines[number % 7], "linestyle": LINES[number % 7], "linewidth": 1.6}


LIGHT = "#0072B2", "#D55E00", "#009E73", "#B4508C", "#A87400", "#3C9BD0", "#20242a"
DARK = "#56B4E9", "#EE8A4D", "#3CC79A", "#E09AC4", "#E6B340", "#9ECAE8", "#e8e6e1"
THEMES = {  # what ends the name of a drawing's file
    "": Theme("#ffffff", "#20242a", "#5a616b", "#ece9e1", LIGHT),
    "-dark": Theme("#1c2026", "#e8e6e1", "#a7adb7", "#343a43", DARK),
}


class Point(NamedTuple):
    """A point of a line: mean, lowest and highest of a cell's seeds; ``of`` is its table, figure or size."""

    of: str | float
    name: str
    x: float
    mean: float
    low: float
    high: float
    doubts: str = ""
    cell: ComparedCell | None = None


class Panel(NamedTuple):
    """Points, (name, score) of level lines, whether ticks are round numbers, and of what marks are hollow."""

    title: str
    below: str
    points: Sequence[Point]
    levels: Sequence[tuple[str, float]] = ()
    has_round_ticks: bool = False
    hollow: Sequence[str] = ()


FIGURE = (
    '<figure class="slide"><div class="scroll" tabindex="0"><picture>'
    '<source media="(prefers-color-scheme: dark)" srcset="{0}-dark.svg">'
    '<img src="{0}.svg" alt="{1}" width="960" height="540"></picture></div><figcaption>'
    '<a href="{0}.csv">the numbers as CSV</a>, <a href="{0}.svg">for a slide</a>, '
    '<a href="{0}-dark.svg">dark</a></figcaption></figure>'
)


def write(draw: Callable[..., None], stem: Path, title: str, note: str, head, rows) -> str:
    """Draw for either ground, with the numbers beside it, and return the HTML that shows the drawings.

    Args:
        draw: a function of a path, a theme, a title and a note.
        head, rows: of the CSV.
    """
    for ending, theme in THEMES.items():
        draw(stem.with_name(f"{stem.name}{ending}.svg"), theme, title, note)
    write_csv(stem.with_suffix(".svg"), head, rows)
    return FIGURE.format(stem.name, html.escape(f"{title}. {note} The numbers are in {stem.name}.csv."))


@contextmanager
def _slide(
    path: Path, theme: Theme, title: str, note: str, *, panels: int, across: int = 4, share_y: bool = True
):
    """Yield the axes of a figure, ``across`` in a row; it is saved to ``path`` when the block is left."""
    soft = ("axes.edgecolor", "xtick.color", "ytick.color", "axes.labelcolor")
    look: dict[str, object] = {
        **dict.fromkeys(soft, theme.soft),
        "text.color": theme.ink,
        "axes.titlecolor": theme.ink,
        "axes.facecolor": theme.ground,
    }
    look |= {"font.size": 10, "axes.titlesize": 10.5, "axes.labelsize": 10, "savefig.facecolor": theme.ground}
    size = (10, 5.625)
    with drawing(path, size, panels=panels, across=across, share_y=share_y, style=look) as (figure, grid):
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # inches
        figure.text(LEFT, 0.975, title, va="top", fontsize=14, fontweight="bold")
        small_lines = textwrap.wrap(note, LETTERS)
        figure.text(LEFT, 0.02, "\n".join(small_lines), va="bottom", fontsize=SMALL, color=theme.soft)
        yield grid
        low, high = 0.03 + LINE * len(small_lines), 0.91 - LINE * _legend(figure)
        figure.get_layout_engine().set(rect=(0, low, 1, high - low))


def _legend(figure) -> int:
    """Write every name once beneath the title, and return in how many lines."""
    handles = {n: h for axes in figure.axes for h, n in zip(*axes.get_legend_handles_labels(), strict=True)}
    place = {"loc": "upper left", "bbox_to_anchor": (LEFT, 0.925), "borderaxespad": 0, "borderpad": 0}
    look = {"frameon": False, "handletextpad": 0.4, "columnspacing": 1.4, "fontsize": SMALL + 0.5}
    if handles:
        figure.legend(list(handles.values()), list(handles), ncols=min(ACROSS, len(handles)), **place, **look)
    return -(-len(handles) // ACROSS)


def _systems(grid: Sequence, titles: Sequence[str], systems: Sequence[str], theme: Theme) -> None:
    """Name the panels, and the systems downwards."""
    for axes, title in zip(grid, titles, strict=True):
        axes.set_title("\n".join(title.rsplit(" ", 1)))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
    grid[0].set_yticks(range(len(systems)), systems, color=theme.ink)
    grid[0].set_ylim(len(systems) - 0.5, -0.5)


def seeds(columns, systems, levels, rows: Sequence[tuple], *where) -> None:
    """Draw a dot for each seed of a system, a bar for the mean, a line for systems that are ``levels``.

    Args:
        rows: column, system, seed, score and more of each dot.
    """
    _, theme, *_ = where
    with _slide(*where, panels=len(columns)) as grid:
        for axes, column in zip(grid, columns, strict=True):
            scores = {n: [r[3] for r in rows if r[:2] == (column, n)] for n in (*levels, *systems)}
            for number, name in enumerate(level for level in levels if scores[level]):
                look = {"color": theme.lines[(number + 1) % 7], "linestyle": ("--", ":", "-.")[number % 3]}
                axes.axvline(statistics.fmean(scores[name]), linewidth=1.4, label=name, **look)
            for height, system in enumerate(systems):
                _dots(axes, scores[system], height, theme)
            axes.grid(axis="x", linewidth=0.4, color=theme.band)
            axes.set_axisbelow(True)
        _systems(grid, columns, systems, theme)


def _dots(axes, values: Sequence[float], height: int, theme: Theme) -> None:
    """Draw the seeds of one system and their mean."""
    if values:
        mean = statistics.fmean(values)
        axes.vlines(mean, height - 0.3, height + 0.3, color=theme.ink, linewidth=1.6)
        dots = {"s": 30, "facecolors": theme.lines[0], "edgecolors": theme.ground, "linewidths": 0.5}
        axes.scatter(values, [height] * len(values), **dots, alpha=0.85, zorder=3)
    else:
        look = {"ha": "center", "va": "center", "fontsize": SMALL - 1, "color": theme.soft}
        axes.text(0.5, height, "not measured yet", transform=axes.get_yaxis_transform(), **look)


def differences(matters: Mapping[str, float], systems, references, rows: Sequence[tuple], *where) -> None:
    """Draw differences with their intervals, a panel a column; what is less than matters is shaded.

    Args:
        rows: column, system, reference, difference, low, high and more of each.
    """
    _, theme, *_ = where
    with _slide(*where, panels=len(matters)) as grid:
        for axes, (column, least) in zip(grid, matters.items(), strict=True):
            axes.axvspan(-least, least, color=theme.band, linewidth=0, zorder=0)
            axes.axvline(0, color=theme.ink, linewidth=0.9, zorder=1)
            for number, reference in enumerate(references):
                found = [r for r in rows if (r[0], r[2]) == (column, reference)]
                lane, colour = 0.15 * (2 * number - len(references) + 1), theme.lines[number % 7]
                heights = [systems.index(r[1]) + lane for r in found]
                axes.hlines(
                    heights, [r[4] for r in found], [r[5] for r in found], color=colour, linewidth=1.8
                )
                dots = {"color": colour, "s": 34, "marker": "os^"[number % 3], "zorder": 3}
                axes.scatter([r[3] for r in found], heights, **dots, label=f"against {reference}")
        _systems(grid, list(matters), systems, theme)


class Layout(NamedTuple):
    """How many panels of lines are beside each other, and whether lines are named at their ends."""

    across: int = 1
    share_y: bool = False
    at_ends: bool = True


def lines(panels: Sequence[Panel], layout: Layout, *where) -> None:
    """Draw panels of lines, whose names are where the lines end or, without ``at_ends``, in a legend."""
    _, theme, *_ = where
    across, share_y, at_ends = layout
    names = [name for panel in panels for name in (*(p.name for p in panel.points), *dict(panel.levels))]
    names = list(dict.fromkeys(names))
    with _slide(*where, panels=len(panels), across=across, share_y=share_y) as grid:
        pairs = list(zip(grid, panels, strict=True))
        ends = [list(_lines(axes, panel, names, theme, at_ends)) for axes, panel in pairs]
        for axes, panel_ends in zip(grid, ends, strict=True):
            _label_ends(axes, panel_ends if at_ends else [], theme)


def _lines(axes, panel: Panel, names: list[str], theme: Theme, at_ends: bool) -> Iterator[tuple]:
    """Draw a panel, and yield height, name and colour of where each of its lines ends."""
    for name, score in panel.levels:
        look = theme.look(names.index(name))
        axes.axhline(score, label=None if at_ends else name, **look)
        yield score, name, look["color"]
    lines: dict[str, list[Point]] = {point.name: [] for point in panel.points}
    for point in sorted(panel.points, key=lambda p: p.x):
        lines[point.name].append(point)
    for name, points in lines.items():
        rings = [p for p in points if p.of in panel.hollow]
        _line(axes, points, rings, names.index(name), theme, label=None if at_ends else name)
        yield points[-1].mean, name, theme.look(names.index(name))["color"]
    axes.set_title(panel.title)
    axes.set_xlabel(panel.below)
    axes.grid(axis="y", linewidth=0.4, color=theme.band)
    axes.margins(y=0.1)
    _scale(axes, panel, limit=8 if at_ends else 4)


def _line(axes, points: Sequence[Point], rings: Sequence[Point], number: int, theme: Theme, label) -> None:
    """Draw a line, small marks where it is in a legend, with rings at some points, and lowest to highest."""
    _, _, x, means, low, high, *_ = zip(*points, strict=True)
    look, shape, size = theme.look(number), MARKERS[number % 7], 3.5 if label else 6
    axes.plot(x, means, marker=shape, markersize=size, label=label, **look)
    axes.vlines(x, low, high, color=look["color"], linewidth=1)
    colours = {"facecolors": theme.ground, "edgecolors": look["color"]}
    places = [p.x for p in rings], [p.mean for p in rings]
    axes.scatter(*places, s=size**2, zorder=3, marker=shape, **colours)


def _scale(axes, panel: Panel, *, limit: int) -> None:
    """Set few ticks, round thousands as k, since four digits beside each other would run together."""
    from matplotlib.ticker import MaxNLocator

    places = sorted({point.x for point in panel.points})
    _stretch(axes, places)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    ticks = _round_numbers(places) if panel.has_round_ticks else places
    ticks = ticks[:: -(-len(ticks) // limit) or 1]
    axes.set_xticks(ticks, [f"{x / 1000:g}k" if x >= 1000 and x % 100 == 0 else f"{x:g}" for x in ticks])


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


def _round_numbers(places: Sequence[float]) -> list[float]:
    """Return round numbers between the least and the greatest place, evenly apart on a logarithmic axis."""
    candidates = [digit * 10.0**power for power in range(-6, 16) for digit in (1, 2, 5)]
    return [number for number in candidates if places[0] <= number <= places[-1]]


def _label_ends(axes, ends: Sequence[tuple[float, str, str]], theme: Theme) -> None:
    """Write names at the right of the axes, each at its height, moved so that none covers another."""
    low, high = axes.get_ylim()
    ordered = sorted(ends)
    places = spread([(y - low) / (high - low) for y, _, _ in ordered])
    for place, (y, name, colour) in zip(places, ordered, strict=True):
        position = {"xy": (1, (y - low) / (high - low)), "xytext": (1.05, place), "va": "center"}
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6}
        coordinates = {"xycoords": "axes fraction", "textcoords": "axes fraction"}
        axes.annotate(name, **position, **coordinates, arrowprops=line, fontsize=SMALL, color=theme.ink)


def spread(places: Sequence[float]) -> list[float]:
    """Return rising places moved apart to ``APART`` as little as that takes, in the order they have."""
    blocks: list[tuple[float, int]] = []  # (middle, how many)
    for place in places:
        blocks.append((place, 1))
        while len(blocks) > 1 and blocks[-1][0] - blocks[-2][0] < APART * (blocks[-1][1] + blocks[-2][1]) / 2:
            (upper, n), (lower, m) = blocks.pop(), blocks.pop()
            blocks.append(((upper * n + lower * m) / (n + m), n + m))
    return [middle + APART * (k - (count - 1) / 2) for middle, count in blocks for k in range(count)]
