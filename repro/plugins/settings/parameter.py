"""The verdict on one planned parameter, or on one thing that is stated."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from repro.graph import canonical
from repro.manifest.cells import cell

FAILURE, NO_PARAMETER = "failure", "no parameter"


@dataclass(frozen=True)
class CheckedParameter:
    """A planned parameter of a row, or something stated, and how the two agree.

    Attributes:
        row: ``paper/table/row``, an exhibit, or the place that a step names; of a statement by itself its
            cell or its paper.
        step: id of the step of settings.yaml; empty where none is about it.
        parameter: its path, or what is stated; empty for a whole step or node.
        published, released: what is stated, None where nothing is.
        planned: the value in the plan; a list where the nodes of the row have several.
        reading: by which the plan departs, or which fills a silence.
        cell: the cell of a table of settings that publishes the value.
        state: as published, as released, departs, unspecified, no parameter or failure.
        says: of a failure what does not fit and what to do; of no parameter why it is none.
    """

    row: str
    step: str
    stage: str
    parameter: str
    published: Any = None
    released: Any = None
    planned: Any = None
    reading: str = ""
    where: str = ""
    cell: str = ""
    state: str = FAILURE
    says: str = ""

    @property
    def fails(self) -> bool:
        """Whether it is to be mended, in settings.yaml or in the recipe."""
        return self.state == FAILURE

    @property
    def verdict(self) -> str:
        """The state in words, with the reading or the reason."""
        phrases = {"departs": f"departs by {self.reading}", "unspecified": f"unspecified: {self.reading}"}
        return f"{self.state}: {self.says}" if self.says else phrases.get(self.state, self.state)

    def as_json(self) -> dict:
        """All of it as plain values."""
        return asdict(self)


def of_cells(items: Iterable[CheckedParameter]) -> dict[str, CheckedParameter]:
    """The verdict on each cell of a table of settings, the weightiest of the rows that take it up."""
    weights = (FAILURE, "departs", "as published", NO_PARAMETER)
    ordered = sorted((item for item in items if item.cell), key=lambda item: -weights.index(item.state))
    return {item.cell: item for item in ordered}


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
