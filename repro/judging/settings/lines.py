"""Settings as lines of text, for a terminal and for the page of a report."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from repro.graph import canonical
from repro.judging.settings.parameter import CheckedParameter, of_cells
from repro.manifest.cells import cell

HEAD = ("parameter", "published", "released", "planned", "verdict", "rows")
CELL_HEAD = ("cell", "published", "parameter", "planned", "verdict")
MOST_ROWS = 3


def counts(items: Iterable[CheckedParameter]) -> str:
    """How many parameters are in each state, in words."""
    return ", ".join(f"{number} {state}" for state, number in Counter(item.state for item in items).items())


def in_words(value: Any) -> str:
    """A value in one line; empty where there is none."""
    if value is None or isinstance(value, str):
        return "" if value is None else value or '""'
    return canonical(value)


def by_step(items: Iterable[CheckedParameter]) -> dict[str, list[CheckedParameter]]:
    """The parameters under the name of their step, or of what no step is about."""
    steps: dict[str, list[CheckedParameter]] = {}
    for item in items:
        default = f"{item.stage}, not in settings.yaml" if item.stage else "stated, but no parameter"
        steps.setdefault(item.step or default, []).append(item)
    return steps


def merged_lines(items: Iterable[CheckedParameter]) -> list[tuple[str, ...]]:
    """The fields of ``HEAD``; rows of which the same is true share a line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        values = map(in_words, (item.published, item.released, item.planned))
        lines.setdefault((item.parameter, *values, item.verdict), []).append(item.row.partition("/")[2])
    return [(*line, _places(rows)) for line, rows in lines.items()]


def of_cells_of_settings(items: Iterable[CheckedParameter]) -> list[tuple[str, ...]]:
    """The fields of ``CELL_HEAD`` for each cell of a paper's own tables of settings."""
    return [
        (place, cell(place).text, item.parameter, in_words(item.planned), item.verdict)
        for place, item in of_cells(items).items()
    ]


def _places(rows: Iterable[str]) -> str:
    names = list(dict.fromkeys(rows))
    remainder = f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
    return ", ".join(names[:MOST_ROWS]) + remainder
