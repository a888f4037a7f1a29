"""Pictures of figures that are measured point by point: learning curves, and growth beyond its sizes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from repro.errors import unknown
from repro.judging.compared import ComparedCell
from repro.manifest.cells import figure_of
from repro.manifest.schema import Figure
from repro.report.article.picture import Put, data_of, place_of, seeds_of
from repro.report.article.prose import NOT_MEASURED
from repro.report.article.results import StudyResults
from repro.report.figures.line_panels import Lines, Place, line_panels
from repro.report.size_trends import markdown, panel_trends
from repro.report.study_words import capitalised

SETTINGS = "Learning curves, one setting at a time"
TITLE = 28  # letters in a line above one of several panels
Points = Mapping[str, Sequence[ComparedCell]]  # line -> its measured points


def curves(results: StudyResults, put: Put, scale: str, figures: Sequence[str]) -> str:
    """The first panel of figures of the paper at a scale; without a name, of all that there are.

    A figure without a measured point is named beneath the picture, as are the missing points of the others.
    """
    chosen_figures = _choose_figures(results, figures)
    figure_points = [(figure, _points(results, figure, scale)) for figure in chosen_figures]
    measured_figures, alone = _measured_figures(figure_points), len(chosen_figures) == 1
    panels, far = [_panel(*pair, alone=alone) for pair in measured_figures], ""
    if alone and panels:
        panels[0], far = _without_far_levels(panels[0])
    cells = [c for pair in measured_figures for c in _curve_points(*pair)]
    look = {"across": min(4, max(1, -(-len(panels) // 2))), "at_ends": alone, "share_y": not alone}
    picture = put(
        partial(line_panels, panels, **look),
        name="-".join(("curves", *figures[:1])),
        title=f"{chosen_figures[0].panels[0].label} by {chosen_figures[0].x}" if alone else SETTINGS,
        small=f"{_description(chosen_figures)}{far}{data_of(cells)} {seeds_of(cells)} Scale {scale}.",
        head=("figure", "line", "x", "mean", "lowest", "highest", "doubts"),
        rows=[row for pair in measured_figures for row in _rows(*pair)],
    )
    return "\n\n".join([picture, *_missing_sentences(figure_points)])


def _without_far_levels(panel: Lines) -> tuple[Lines, str]:
    """The panel without level lines that would press its lines together, and a sentence on these.

    Far is a level more than three times as far beyond the lines as they reach from lowest to highest.
    """
    scores = [place.y for _, places in panel.of for place in places]
    reach = 3 * (max(scores) - min(scores))
    far = [(n, s) for n, s in panel.levels if not min(scores) - reach <= s <= max(scores) + reach]
    if not far or not reach:
        return panel, ""
    names = " and ".join(f"{name} at {score:.1f}" for name, score in far)
    return replace(
        panel, levels=[level for level in panel.levels if level not in far]
    ), f"Not drawn: {names}. "


def _choose_figures(results: StudyResults, figures: Sequence[str]) -> list[Figure]:
    """The figures of these ids; without an id, all that are measured point by point and have no trend."""
    defaults = [f for f in results.source.manifest.figures if f.lines and f.trend is None]
    return [figure_of(results.source, name) for name in figures] or defaults


def _description(figures: Sequence[Figure]) -> str:
    """Say what a picture of one figure is about; of several the panels say it."""
    return "" if figures[1:] else f"{capitalised(figures[0].about)}. "


def growth(results: StudyResults, put: Put, scale: str, identifier: str) -> str:
    """A figure with a trend: its first column, a panel a size, and what follows in words."""
    figure = _trend_figure(results, identifier)
    points = _points(results, figure, scale)
    size_name, by_size = figure.trend.across, _by_size(figure, points)
    measured_points = _curve_points(figure, points)
    picture = put(
        partial(line_panels, list(by_size.values()), across=len(by_size), share_y=True),
        name=f"growth-{identifier}",
        title=f"{figure.panels[0].label} as models and texts grow",
        small=f"{data_of(measured_points)} {seeds_of(measured_points)} Scale {scale}.",
        head=("size", "of", "system", "x", "mean", "lowest", "highest", "doubts"),
        rows=[(size_name, *row) for size, panel in by_size.items() for row in _numbers(size, panel.of)],
    )
    cells = [c for c in results.figures(scale) if c.cell.table.id == f"figure-{identifier}"]
    trends = panel_trends(figure, cells)
    has_fit = any(panel.methods for panel in trends)
    text = markdown(figure, trends) if has_fit else f"What follows for larger ones: {NOT_MEASURED}."
    return "\n\n".join([picture, *_missing_sentences([(figure, points)]), text])


def _trend_figure(results: StudyResults, identifier: str) -> Figure:
    """The figure of that id. Raises UsageError where it has no trend."""
    figure = figure_of(results.source, identifier)
    if figure.trend is None:
        trends = [f.id for f in results.source.manifest.figures if f.trend]
        raise unknown(f"figure with a trend of {results.source.name}", identifier, trends)
    return figure


def _by_size(figure: Figure, points: Points) -> dict[float, Lines]:
    """A panel for each size, smallest first."""
    size_name, panel = figure.trend.across, _panel(figure, points, alone=True)
    sizes: dict[float, dict[str, str]] = {}  # -> label of a line -> its method
    for line in figure.lines:
        if line.method:
            sizes.setdefault(line.with_[size_name], {})[line.label] = line.method
    panels = {}
    for size, methods in sorted(sizes.items()):
        lines = [(methods[label], places) for label, places in panel.of if label in methods]
        levels = [(methods[label], score) for label, score in panel.levels if label in methods]
        panels[size] = Lines(f"{size_name} {size:g}", panel.below, lines, levels)
    return panels


def _points(results: StudyResults, figure: Figure, scale: str) -> Points:
    """The measured points of a figure's first panel, from left to right."""
    place = f"figure-{figure.id}", figure.panels[0].id
    points: dict[str | None, list[ComparedCell]] = {}
    for c in results.figures(scale):
        if c.records and (c.cell.table.id, c.cell.column.id) == place:
            points.setdefault(c.cell.row.group, []).append(c)
    return points


def _measured_figures(figure_points: Sequence[tuple[Figure, Points]]) -> list[tuple[Figure, Points]]:
    """The figures of which a point is measured; a level line alone is no curve."""
    return [(figure, points) for figure, points in figure_points if _lines(figure, points)]


def _curve_points(figure: Figure, points: Points) -> list[ComparedCell]:
    """The measured points of the lines that have an x-axis; the others are level."""
    return [c for line in figure.lines if line.over for c in points.get(line.id, ())]


def _lines(figure: Figure, points: Points) -> list[tuple[str, list[Place]]]:
    """(label, its places from left to right) of every line over the x-axis of which something is measured."""
    lines = []
    for line in figure.lines:
        places = [
            place_of(float(c.cell.row.with_[line.over]), c) for c in points.get(line.id, ()) if line.over
        ]
        if places:
            lines.append((line.label, sorted(places, key=lambda p: p.x)))
    return lines


def _rows(figure: Figure, points: Points) -> list[tuple]:
    """The numbers of a figure's lines, as the CSV has them."""
    return _numbers(figure.id, _lines(figure, points))


def _numbers(first: str | float, lines: Iterable[tuple[str, Sequence[Place]]]) -> list[tuple]:
    return [(first, name, p.x, p.y, p.low, p.high, p.doubts) for name, line in lines for p in line]


def _panel(figure: Figure, points: Points, *, alone: bool) -> Lines:
    """A figure as far as it is measured: the name of its x-axis below it or, among others, above it."""
    level_lines = [line for line in figure.lines if not line.over and line.id in points]
    levels = [(line.label, points[line.id][0].measured) for line in level_lines]
    title = "\n".join(textwrap.wrap(capitalised(figure.x or ""), TITLE))
    names = ("", figure.x or "") if alone else (title, "")
    return Lines(*names, _lines(figure, points), levels)


def _missing_sentences(figure_points: Sequence[tuple[Figure, Points]]) -> Iterator[str]:
    """Tell what is not measured: points of what is drawn, then in one sentence what is not drawn at all.

    Nothing where nothing is drawn, which the text says in place of the picture.
    """
    measured_figures = _measured_figures(figure_points)
    all_gaps = {figure.x or figure.id: _gaps(figure, points) for figure, points in measured_figures}
    gaps = {x: gap for x, gap in all_gaps.items() if gap}
    if gaps:
        items = "\n".join(f"* {capitalised(x)}: {gap}." for x, gap in gaps.items())
        sentence = f"Not measured yet: {''.join(gaps.values())}."
        yield f"Not measured yet, of what is drawn:\n\n{items}" if figure_points[1:] else sentence
    if measured_figures and len(measured_figures) < len(figure_points):
        yield f"Not drawn, as no point of it is measured yet: {'; '.join(_undrawn_axes(figure_points))}."


def _undrawn_axes(figure_points: Sequence[tuple[Figure, Points]]) -> list[str]:
    return [figure.x or figure.id for figure, points in figure_points if not _lines(figure, points)]


def _gaps(figure: Figure, points: Points) -> str:
    """Each line of which something is missing, with the places on the x-axis unless it is all of them."""
    gaps = []
    for line in figure.lines:
        measured_places = {
            c.cell.row.with_[line.over] if line.over else None for c in points.get(line.id, ())
        }
        missing_places = [f"{x:g}" for x in figure.points if x not in measured_places]
        if not measured_places:
            gaps.append(line.label)
        elif line.over and missing_places:
            gaps.append(f"{line.label} at {', '.join(missing_places)}")
    return "; ".join(gaps)
