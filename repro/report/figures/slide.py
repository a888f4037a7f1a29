"""Drawings in the shape of a slide, for a light or a dark ground: type, colours, panels, labels at lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from repro.report.figures.canvas import MARKERS, STYLE

SIZE = (10, 5.625)  # inches: 16 to 9
TITLE, SMALL = 14, 9.5  # points
LEFT, LINE, LETTERS = 0.012, 0.034, 130  # of the figure: its margin, a line of text; letters in such a line
ACROSS = 5  # names in a line of a legend
APART = 0.055  # of an axis: labels at lines stand no nearer


@dataclass(frozen=True)
class Theme:
    """The colours of a drawing; ``lines`` are Okabe and Ito's, as dark or as light as the ground asks."""

    ground: str
    ink: str
    soft: str
    band: str
    lines: tuple[str, ...]

    def colour(self, number: int) -> str:
        """The colour of the n-th line."""
        return self.lines[number % len(self.lines)]


LIGHT = Theme(
    *("#ffffff", "#20242a", "#5a616b", "#ece9e1"),
    ("#0072B2", "#D55E00", "#009E73", "#B4508C", "#A87400", "#3C9BD0", "#20242a"),
)
DARK = Theme(
    *("#1c2026", "#e8e6e1", "#a7adb7", "#343a43"),
    ("#56B4E9", "#EE8A4D", "#3CC79A", "#E09AC4", "#E6B340", "#9ECAE8", "#e8e6e1"),
)
THEMES = {"": LIGHT, "-dark": DARK}  # what ends the name of a drawing's file


def marker(number: int) -> str:
    """The shape of the n-th line's points."""
    return MARKERS[number % len(MARKERS)]


@contextmanager
def slide(
    path: Path,
    theme: Theme,
    *,
    title: str,
    panels: int,
    across: int = 4,
    small: str = "",
    share_y: bool = False,
) -> Iterator[list]:
    """The axes of a figure; saved to ``path`` when the block is left.

    Args:
        panels: how many, ``across`` in a row.
        small: small print beneath.
    """
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(panels, across)
    look = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "axes.labelcolor"), theme.soft)
    look |= {"text.color": theme.ink, "axes.titlecolor": theme.ink, "axes.facecolor": theme.ground}
    look |= {"font.size": 10, "axes.titlesize": 10.5, "axes.labelsize": 10, "savefig.facecolor": theme.ground}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | look)
        figure = Figure(figsize=SIZE, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # inches
        grid = list(figure.subplots(-(-panels // columns), columns, squeeze=False, sharey=share_y).flat)
        for unused in grid[panels:]:
            unused.remove()
        figure.text(LEFT, 0.975, title, va="top", fontsize=TITLE, fontweight="bold")
        lines = textwrap.wrap(small, LETTERS)
        figure.text(LEFT, 0.02, "\n".join(lines), va="bottom", fontsize=SMALL, color=theme.soft)
        yield grid[:panels]
        rows = legend(figure)
        low, high = 0.03 + LINE * len(lines), 0.91 - LINE * rows
        figure.get_layout_engine().set(rect=(0, low, 1, high - low))
        options = {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
        figure.savefig(path, format=path.suffix.removeprefix("."), **options)


def legend(figure) -> int:
    """Write every name once beneath the title, and return in how many lines."""
    handles = {n: h for axes in figure.axes for h, n in zip(*axes.get_legend_handles_labels(), strict=True)}
    if not handles:
        return 0
    place = {"loc": "upper left", "bbox_to_anchor": (LEFT, 0.925), "borderaxespad": 0, "borderpad": 0}
    look = {"frameon": False, "handletextpad": 0.4, "columnspacing": 1.4, "fontsize": SMALL + 0.5}
    figure.legend(list(handles.values()), list(handles), ncols=min(ACROSS, len(handles)), **place, **look)
    return -(-len(handles) // ACROSS)


def label_ends(axes, ends: Sequence[tuple[float, str, str]], theme: Theme) -> None:
    """Write names at the right of the axes, each at its height, moved so that none covers another.

    Args:
        ends: (height in data, name, colour) of each.
    """
    low, high = axes.get_ylim()
    ordered = sorted(ends)
    places = spread([(y - low) / (high - low) for y, _, _ in ordered])
    for place, (y, name, colour) in zip(places, ordered, strict=True):
        position = {"xy": (1, (y - low) / (high - low)), "xytext": (1.05, place), "va": "center"}
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6}
        coordinates = {"xycoords": "axes fraction", "textcoords": "axes fraction"}
        axes.annotate(name, **position, **coordinates, arrowprops=line, fontsize=SMALL, color=theme.ink)


def spread(places: Sequence[float]) -> list[float]:
    """Rising places, moved apart to ``APART`` as little as that takes, in the order they have."""
    blocks: list[tuple[float, int]] = []  # (middle, how many)
    for place in places:
        blocks.append((place, 1))
        while len(blocks) > 1 and blocks[-1][0] - blocks[-2][0] < APART * (blocks[-1][1] + blocks[-2][1]) / 2:
            (upper, n), (lower, m) = blocks.pop(), blocks.pop()
            blocks.append(((upper * n + lower * m) / (n + m), n + m))
    return [middle + APART * (k - (count - 1) / 2) for middle, count in blocks for k in range(count)]
