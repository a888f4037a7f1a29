"""A verdict on every planned parameter and statement of settings.yaml, e.g. "as published"."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from repro import api, errors, graph
from repro.manifest.cells import Cell, cell, cells_of
from repro.manifest.papers import Paper, sources
from repro.plugins.settings import planned_rows as plans
from repro.plugins.settings.planned_rows import (
    ExpectedValues,
    PlannedRow,
    at_path,
    planned_rows,
)
from repro.plugins.settings.schema import Setting, SourcedValue, Step, settings_of, steps_of
from repro.running.requirements import Machine

FAILURE, NO_PARAMETER = "failure", "no parameter"


@dataclass
class CheckedParameter:
    """A planned parameter of a row, or a statement, with a verdict.

    Attributes:
        row: ``paper/table/row``, an exhibit, or a step's place. For a statement, its cell or paper.
        parameter: its path, or the subject of a statement. Empty for a whole step or stage.
        planned: the value in the plan, or a list if the row's stages have several.
        cell: the cell of a table of settings that publishes the value.
        state: as published, as released, departs, unspecified, no parameter or failure.
        says: the problem and its remedy, or why the plan has no such parameter.
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
        """True if settings.yaml or the recipe must be corrected."""
        return self.state == FAILURE

    @property
    def verdict(self) -> str:
        """The state in words, e.g. "departs by batch-size"."""
        phrases = {"departs": f"departs by {self.reading}", "unspecified": f"unspecified: {self.reading}"}
        return f"{self.state}: {self.says}" if self.says else phrases.get(self.state, self.state)

    def as_json(self) -> dict:
        return asdict(self)


def of_cells(items: Iterable[CheckedParameter]) -> dict[str, CheckedParameter]:
    """Return cell of a table of settings -> its parameter with the most severe state."""
    weights = (FAILURE, "departs", "as published", NO_PARAMETER)
    ordered = sorted((item for item in items if item.cell), key=lambda item: -weights.index(item.state))
    return {item.cell: item for item in ordered}


HEAD = ("parameter", "published", "released", "planned", "verdict", "rows")
CELL_HEAD = ("cell", "published", "parameter", "planned", "verdict")
MOST_ROWS = 3


def counts(items: Iterable[CheckedParameter]) -> str:
    """Return the numbers by state, e.g. "36 as released, 18 unspecified"."""
    return ", ".join(f"{number} {state}" for state, number in Counter(item.state for item in items).items())


def in_words(value: Any) -> str:
    """Return a value in one line, or "" for None."""
    if value is None or isinstance(value, str):
        return "" if value is None else value or '""'
    return graph.canonical(value)


def by_step(items: Iterable[CheckedParameter]) -> dict[str, list[CheckedParameter]]:
    """Group parameters by the name of their step. Parameters without one get a heading."""
    return graph.grouped((item.step or _heading(item.stage), item) for item in items)


def _heading(stage: str) -> str:
    return f"{stage}, not in settings.yaml" if stage else "statements without a parameter"


def merged_lines(items: Iterable[CheckedParameter]) -> list[tuple[str, ...]]:
    """Return the fields of ``HEAD`` for each parameter. Rows with equal values share a line."""
    lines = graph.grouped((_fields(item), item.row.partition("/")[2]) for item in items)
    return [(*line, errors.first_of(list(dict.fromkeys(rows)), MOST_ROWS)) for line, rows in lines.items()]


def _fields(item: CheckedParameter) -> tuple[str, ...]:
    values = map(in_words, (item.published, item.released, item.planned))
    return item.parameter, *values, item.verdict


def of_cells_of_settings(items: Iterable[CheckedParameter]) -> list[tuple[str, ...]]:
    """Return the fields of ``CELL_HEAD`` for each cell."""
    return [
        (place, cell(place).text, item.parameter, in_words(item.planned), item.verdict)
        for place, item in of_cells(items).items()
    ]


def settings(*names: str) -> api.Listing[CheckedParameter]:
    """Compare the planned parameters at full scale with the settings of papers (all without ``names``).
    Raises UsageError, ManifestError.

    Example:
        >>> repro.settings("PAPER").to_frame()
    """
    items = [item for source in sources(names) for item in checked_parameters(source)]
    return api.Listing(items, line=CheckedParameter.as_json, index="row")


def checked_parameters(source: Paper, machine: Machine | None = None) -> list[CheckedParameter]:
    rows, steps, expected = planned_rows(source, machine=machine), steps_of(source), ExpectedValues()
    of_rows = [item for row in rows for item in _row_parameters(row, steps, expected)]
    return [
        *of_rows,
        *_alike_failures(source, rows),
        *_idle_failures(steps, rows),
        *_unplanned_statements(source, of_rows),
    ]


def states_of_tables(source: Paper) -> dict[str, Counter[str]]:
    """Return table -> state -> the number of its cells in this state."""
    states: dict[str, Counter[str]] = {}
    if any(c.is_setting for c in cells_of(source)):
        for place, item in of_cells(checked_parameters(source)).items():
            states.setdefault(place.split("/")[1], Counter())[item.state] += 1
    return states


def _alike_failures(source: Paper, rows: list[PlannedRow]) -> Iterator[CheckedParameter]:
    for one, other in plans.planned_alike(source, rows):
        says = f"{one} is planned like {other}, which has another published number (correct their options)"
        yield CheckedParameter(one.rpartition("/")[0], "", "evaluate", "", says=says)


def of_cell(cell: Cell) -> list[CheckedParameter]:
    """Return the parameters of a cell's row. For a cell of a table of settings, return its own."""
    if not steps_of(cell.paper):
        return []
    if cell.is_setting:
        return [item for item in checked_parameters(cell.paper) if item.cell == cell.id]
    rows = planned_rows(cell.paper, cell.row_path)
    return [item for row in rows for item in _row_parameters(row, steps_of(cell.paper), ExpectedValues())]


def _unplanned_statements(
    source: Paper, row_parameters: Iterable[CheckedParameter]
) -> Iterator[CheckedParameter]:
    named_cells = {item.cell for item in row_parameters}
    for item in settings_of(source).elsewhere:
        named_cells.add(item.cell)
        value = plans.published_value(item, source.name)
        yield CheckedParameter(
            item.cell or source.name,
            "",
            "",
            item.what,
            published=cell(item.cell).text if item.cell else value,
            released=item.released,
            where=_places_in_code(item),
            cell=item.cell,
            state=NO_PARAMETER,
            says=item.because,
        )
    for c in cells_of(source):
        if c.is_setting and c.id not in named_cells:
            says = "settings.yaml does not name this cell (add it to a setting, or under elsewhere)"
            yield CheckedParameter(c.id, "", "", c.row.label, published=c.text, cell=c.id, says=says)


def _row_parameters(
    row: PlannedRow, steps: Iterable[Step], expected: ExpectedValues
) -> Iterator[CheckedParameter]:
    paths_by_node: dict[str, set[str]] = {}
    for step in steps:
        nodes = row.of_step(step)
        yield from _step_parameters(row, step, nodes, expected) if nodes else ()
        claimed = {*step.settings, *(step.nodes.with_ if step.nodes else ())}
        claimed |= {"objective.name"} if step.nodes and step.nodes.objective else set()
        for node in nodes:
            paths_by_node[node.fingerprint] = claimed | paths_by_node.get(node.fingerprint, set())
    yield from _unclaimed_parameters(row, paths_by_node)


def _step_parameters(
    row: PlannedRow, step: Step, nodes: list[graph.Node], expected: ExpectedValues
) -> Iterator[CheckedParameter]:
    for path, setting in step.stated:
        planned = [at_path(n, path) for n in nodes]
        key = step.id, path, expected.key(setting, row.id, row.readings), repr(planned)
        make = partial(_checked, row, step, path, setting=setting, planned=planned, expected=expected)
        yield CheckedParameter(row.id, *expected.once(key, make))


def _checked(
    row: PlannedRow,
    step: Step,
    path: str,
    *,
    setting: Setting,
    planned: list[Any],
    expected: ExpectedValues,
) -> tuple:
    """Return the fields of a ``CheckedParameter`` after its row."""
    value = expected.of(setting, row.id, row.readings)
    values = list({graph.canonical(value): value for value in planned}.values())
    says = value.fault
    if not says and not value.is_met_by(planned):
        found = " and ".join(map(graph.canonical, values))
        says = f"the plan has {found} instead of {graph.canonical(value.value)}"
        if all(value is None for value in planned):
            says = f"{step.stage} has no parameter {path!r} in the plan (correct or remove the path)"
    published, sources = _published_or_none(setting, row.id), (setting.reading, _places_in_code(setting))
    single = values[0] if len(values) == 1 else values
    fields = step.id, step.stage, path, published, setting.released, single, *sources
    return *fields, setting.cell, _state(setting, says), says


def _places_in_code(value: SourcedValue) -> str:
    return "; ".join(filter(None, (value.where, value.cell, value.script)))


def _published_or_none(setting: Setting, row: str) -> Any:
    try:
        return plans.published_value(setting, row)
    except errors.ReproError:
        return None


def _state(setting: Setting, fault: str) -> str:
    if fault:
        return FAILURE
    if setting.departs:
        return "departs"
    if setting.is_published:
        return "as published"
    return "unspecified" if setting.released is None else "as released"


def _unclaimed_parameters(row: PlannedRow, paths_by_node: dict[str, set[str]]) -> Iterator[CheckedParameter]:
    seen = set()
    for node in row.all:
        details = (node.params.get("objective", {}).get("name"), node.params.get("kind"))
        name = " ".join(filter(None, (node.stage, *details)))
        claimed, paths = paths_by_node.get(node.fingerprint, ()), list(plans.parameters(node))
        says = "the parameter has no source (add its source, or an unspecified choice)"
        if node.fingerprint not in paths_by_node:
            says, paths = "no step describes this stage of the row (add a step, or the row to one)", [""]
        for path in paths:
            if not plans.begins_path(path, claimed) and (name, path) not in seen:
                seen.add((name, path))
                yield CheckedParameter(row.id, "", name, path, planned=at_path(node, path), says=says)


def _idle_failures(steps: Iterable[Step], rows: list[PlannedRow]) -> Iterator[CheckedParameter]:
    for step in steps:
        for place in step.rows:
            if not any(plans.matches(node, step.nodes) for row in rows for node in row.covered((place,))):
                says = "the step describes no planned stage (correct its rows or nodes)"
                yield CheckedParameter(place, step.id, step.stage, "", says=says)
