"""Draws figures in the article's template, as ``repro report figures`` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from repro.manifest.schema import Figure
from repro.plugins.studies.words import capitalised
from repro.verdicts.compared import ComparedCell
from repro.writers.drawing import draw_curves
from repro.writers.markdown import sentence

NOT_MEASURED = "*not measured yet*"


class Pictures:
    """The pictures of the article. Each is an SVG with a CSV of its numbers."""

    def __init__(self, article, folder: Path):
        self._article, self._folder = article, folder

    def curves(self, *identifiers: str) -> str:
        """Write figures of the study, e.g. ``steps``, as SVG and CSV into the folder. Return the Markdown
        that shows them with captions."""
        return "\n\n".join(map(self._curve, identifiers))

    def _curve(self, identifier: str) -> str:
        figure = self._article.figures[identifier]
        cells = [c for c in self._article.points.values() if c.cell.table.id == f"figure-{identifier}"]
        about = sentence(capitalised(figure.about))
        caption = f"Figure *{identifier}*: {about}"
        for path in draw_curves(cells, self._folder, hours={}):
            caption = f"![{about}]({path.name})\n\n{caption} ([numbers]({path.stem}.csv))"
        return f"{caption}. {missing_points(figure, cells)}".rstrip()


def missing_points(figure: Figure, cells: Sequence[ComparedCell]) -> str:
    """Return a sentence that lists the unmeasured points of a figure, e.g. "Not measured yet: SimLM at 100.",
    or "" if there are none."""
    rows = [c.cell.row for c in cells if c.measured is None]
    labels: dict[str | None, str] = {line.id: line.label for line in figure.lines}
    names = (f"{labels[row.group]} at {row.label}" if row.id != row.group else row.label for row in rows)
    gaps = "; ".join(dict.fromkeys(names))
    return f"Not measured yet: {gaps}." if gaps else ""
