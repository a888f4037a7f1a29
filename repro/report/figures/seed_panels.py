"""Scores with every seed a dot: systems downwards, a panel for each column; some systems are lines."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.report.figures.slide import SMALL, Theme, slide


@dataclass(frozen=True)
class SeedScores:
    """The scores of one column.

    Attributes:
        of: system -> its score with each seed.
        levels: name of a line -> its score.
    """

    title: str
    of: Mapping[str, Sequence[float]]
    levels: Mapping[str, float]


def seed_panels(
    panels: Sequence[SeedScores], systems: Sequence[str], path: Path, theme: Theme, *, title: str, small: str
) -> None:
    """Draw the panels beside each other; a bar of each system is its mean."""
    with slide(path, theme, title=title, panels=len(panels), small=small, share_y=True) as grid:
        for axes, panel in zip(grid, panels, strict=True):
            _panel(axes, panel, systems, theme)
        grid[0].set_yticks(range(len(systems)), systems, color=theme.ink)
        grid[0].set_ylim(len(systems) - 0.5, -0.5)


def _panel(axes, panel: SeedScores, systems: Sequence[str], theme: Theme) -> None:
    for number, (name, score) in enumerate(panel.levels.items()):
        look = {"color": theme.colour(number + 1), "linestyle": ("--", ":", "-.")[number % 3]}
        axes.axvline(score, linewidth=1.4, label=name, **look)
    for height, system in enumerate(systems):
        scores = panel.of.get(system, ())
        if scores:
            mean = statistics.fmean(scores)
            axes.vlines(mean, height - 0.3, height + 0.3, color=theme.ink, linewidth=1.6)
            dots = {"s": 30, "facecolors": theme.colour(0), "edgecolors": theme.ground, "linewidths": 0.5}
            axes.scatter(scores, [height] * len(scores), **dots, alpha=0.85, zorder=3)
        else:
            look = {"ha": "center", "va": "center", "fontsize": SMALL - 1, "color": theme.soft}
            axes.text(0.5, height, "not measured yet", transform=axes.get_yaxis_transform(), **look)
    axes.set_title("\n".join(panel.title.rsplit(" ", 1)))
    axes.grid(axis="x", linewidth=0.4, color=theme.band)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
