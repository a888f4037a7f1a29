"""Differences with their intervals: systems downwards, a panel for each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.report.figures.slide import Theme, slide

Estimate = tuple[float, float, float]  # difference, low, high
SHAPES = ("o", "s", "^")


@dataclass(frozen=True)
class Differences:
    """The differences of one column.

    Attributes:
        to: the name of a reference -> system -> difference and its interval.
        least: the smallest difference that matters, which is shaded either way; None for none.
    """

    title: str
    to: Mapping[str, Mapping[str, Estimate]]
    least: float | None = None


def difference_panels(
    panels: Sequence[Differences], systems: Sequence[str], path: Path, theme: Theme, *, title: str, small: str
) -> None:
    """Draw the panels beside each other, with a mark for each reference."""
    references = list(dict.fromkeys(name for panel in panels for name in panel.to))
    with slide(path, theme, title=title, panels=len(panels), small=small, share_y=True) as grid:
        for axes, panel in zip(grid, panels, strict=True):
            _panel(axes, panel, systems, references, theme)
        grid[0].set_yticks(range(len(systems)), systems, color=theme.ink)
        grid[0].set_ylim(len(systems) - 0.5, -0.5)


def _panel(axes, panel: Differences, systems: Sequence[str], references: Sequence[str], theme: Theme) -> None:
    if panel.least is not None:
        axes.axvspan(-panel.least, panel.least, color=theme.band, linewidth=0, zorder=0)
    axes.axvline(0, color=theme.ink, linewidth=0.9, zorder=1)
    for number, reference in enumerate(references):
        estimates = panel.to.get(reference, {})
        lane = 0.15 * (2 * number - len(references) + 1)
        places = [k for k, system in enumerate(systems) if system in estimates]
        points = [estimates[systems[k]] for k in places]
        heights = [k + lane for k in places]
        colour = theme.colour(number)
        axes.hlines(heights, [p[1] for p in points], [p[2] for p in points], color=colour, linewidth=1.8)
        dots = {"color": colour, "s": 34, "marker": SHAPES[number % len(SHAPES)], "zorder": 3}
        axes.scatter([p[0] for p in points], heights, **dots, label=f"against {reference}")
    axes.set_title("\n".join(panel.title.rsplit(" ", 1)))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
