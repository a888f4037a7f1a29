"""A query and its candidates in a plane, one panel a system."""

from collections.abc import Sequence
from pathlib import Path

from repro.writers.figures.canvas import COLOURS, canvas, foot, legend, write_csv

LOOKS = {
    "other": {"marker": "o", "s": 11, "facecolors": "none", "edgecolors": "#8a8a8a", "linewidths": 0.7},
    "relevant": {"marker": "s", "s": 15, "facecolors": COLOURS[1], "edgecolors": "white", "linewidths": 0.3},
    "query": {"marker": "*", "s": 95, "facecolors": COLOURS[0], "edgecolors": "white", "linewidths": 0.5},
}  # drawn in this order, so that what matters lies on top


def scatter(panels: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """One query and its candidates in a plane, a system beside another.

    Below each panel stands the AUC of the vectors, as the places in the plane prove nothing.

    Args:
        panels: pairs of a label and an exhibit of the stage ``project``.
        path: of the SVG; places, roles and grades go into a .csv of the same name.
        note: small print on the face of it; empty for none.
    """
    rows = []
    with canvas(path, panels=len(panels), panel_height=2.6 if len(panels) == 1 else 1.75) as (figure, grid):
        for axes, (label, exhibit) in zip(grid, panels, strict=True):
            for role, look in LOOKS.items():
                points = [point for point in exhibit["points"] if point["role"] == role]
                x, y = ([point[axis] for point in points] for axis in "xy")
                axes.scatter(x, y, label=role, **look)
                rows += [(label, p["id"], role, p["grade"], p["x"], p["y"]) for p in points]
            auc = exhibit.get("measured", {}).get("auc")
            axes.set(title=label, xlabel="no AUC" if auc is None else f"AUC {auc:.2f}", xticks=[], yticks=[])
            axes.set_aspect("equal", adjustable="datalim")
            axes.spines[["top", "right"]].set_visible(True)
        legend(figure, handle_length=1.0)
        foot(figure, "", *_notes([exhibit for _, exhibit in panels]), note)
    write_csv(path, ("system", "id", "role", "grade", "x", "y"), rows)


def _notes(exhibits: Sequence[dict]) -> tuple[str, str]:
    """The notes below the maps: the query, the projection and the AUC, as far as the exhibits state them."""
    queries = sorted({exhibit["query"] for exhibit in exhibits if "query" in exhibit})
    perplexities = sorted({exhibit["perplexity"] for exhibit in exhibits if "perplexity" in exhibit})
    parts = [f"query {', '.join(queries)}"] if queries else []
    if perplexities:
        parts.append(f"t-SNE, perplexity {', '.join(f'{value:g}' for value in perplexities)}")
    return "; ".join(parts), "AUC of the vectors: how often a relevant one scores above another"
