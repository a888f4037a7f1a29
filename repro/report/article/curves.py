"""Pictures of figures that are measured point by point: learning curves, and growth beyond its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from repro.errors import unknown
from repro.manifest.cells import figure_of
from repro.manifest.schema import Figure
from repro.report.article.picture import SPREAD, Put, head_of, place_of
from repro.report.article.prose import NOT_MEASURED
from repro.report.article.results import StudyResults
from repro.report.figures.line_panels import Lines, line_panels
from repro.report.size_trends import markdown, panel_trends


def curves(results: StudyResults, put: Put, scale: str, figures: Sequence[str]) -> str:
    """The first panel of figures of the paper at a scale; without a name, of all that are measured."""
    every = [f for f in results.source.manifest.figures if f.lines and f.trend is None]
    chosen = [figure_of(results.source, name) for name in figures] or every
    panels, rows, heads = [], [], {}
    for figure in chosen:
        panel = _curve(results, figure, scale)
        if panel.of:
            panels.append(panel)
            rows += [(figure.id, n, p.x, p.y, p.low, p.high) for n, line in panel.of for p in line]
            heads[head_of(figure.panels[0])] = figure.unit
    named = "; ".join(f"{head}, {unit}" for head, unit in heads.items())
    return put(
        partial(line_panels, panels, across=min(4, max(1, -(-len(panels) // 2))), at_ends=len(panels) == 1),
        name="-".join(("curves", *figures[:1])),
        title="Learning curves, one setting at a time",
        small=f"On held-out training queries: {named}. {SPREAD} Scale {scale}.",
        head=("figure", "line", "x", "mean", "lowest", "highest"),
        rows=rows,
    )


def growth(results: StudyResults, put: Put, scale: str, identifier: str) -> str:
    """A figure with a trend: its first column, a panel a size, and what follows in words."""
    figure = _with_trend(results, identifier)
    across, by_size = figure.trend.across, _by_size(figure, _curve(results, figure, scale))
    lines = [(size, *line) for size, panel in by_size.items() for line in panel.of]
    rows = [(across, size, name, p.x, p.y, p.low, p.high) for size, name, line in lines for p in line]
    picture = put(
        partial(line_panels, list(by_size.values()), across=len(by_size), share_y=True),
        name=f"growth-{identifier}",
        title=f"{head_of(figure.panels[0])} as models and texts grow",
        small=f"On held-out training queries; {figure.unit}. {SPREAD} Scale {scale}.",
        head=("size", "of", "system", "x", "mean", "lowest", "highest"),
        rows=rows,
    )
    cells = [c for c in results.figures(scale) if c.cell.table.id == f"figure-{identifier}"]
    trends = panel_trends(figure, cells)
    told = markdown(figure, trends) if any(panel.methods for panel in trends) else ""
    return f"{picture}\n\n{told}" if told else f"{picture}\n\nWhat follows for larger ones: {NOT_MEASURED}."


def _with_trend(results: StudyResults, identifier: str) -> Figure:
    """The figure of that id. Raises UsageError where it has no trend."""
    figure = figure_of(results.source, identifier)
    if figure.trend is None:
        trends = [f.id for f in results.source.manifest.figures if f.trend]
        raise unknown(f"figure with a trend of {results.source.name}", identifier, trends)
    return figure


def _by_size(figure: Figure, whole: Lines) -> dict[float, Lines]:
    """A panel for each size, smallest first, with what is ``whole`` taken apart."""
    across = figure.trend.across
    named = {line.label: line for line in figure.lines if line.method}
    panels = {}
    for size in sorted({line.with_[across] for line in named.values()}):
        methods = {label: line.method for label, line in named.items() if line.with_[across] == size}
        lines = [(methods[label], places) for label, places in whole.of if label in methods]
        levels = [(methods[label], score) for label, score in whole.levels if label in methods]
        panels[size] = Lines(f"{across} {size:g}", figure.x or "", lines, levels)
    return panels


def _curve(results: StudyResults, figure: Figure, scale: str) -> Lines:
    """The first panel of a figure, as far as it is measured."""
    place = f"figure-{figure.id}", figure.panels[0].id
    points: dict[str | None, list] = {}
    for c in results.figures(scale):
        if c.records and (c.cell.table.id, c.cell.column.id) == place:
            points.setdefault(c.cell.row.group, []).append(c)
    lines, levels = [], []
    for line in figure.lines:
        on_line = points.get(line.id, [])
        if on_line and line.over is None:
            levels.append((line.label, on_line[0].measured))
        elif on_line:
            places = [place_of(float(c.cell.row.with_[line.over]), c) for c in on_line]
            lines.append((line.label, sorted(places, key=lambda p: p.x)))
    return Lines(figure.id, "", lines, levels)
