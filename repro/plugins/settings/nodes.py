"""The planned nodes of a row, and which of them a step of settings.yaml is about."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from repro.graph import Node, once_a_node, walk
from repro.manifest.cells import Cell, cells_of, exhibits, figure_tables, is_measured
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.plugins.settings.schema import Nodes, Step
from repro.running.cell_readings import CellReadings
from repro.running.plan import Plan, plan
from repro.running.requirements import Machine
from repro.running.scale import scale

DATA = ("evaluate", "corpus", "queries", "qrels")  # stages whose parameters name data and measures
NO_SETTINGS = (
    *("dataset", "identity", "source", "revision", "kind", "objective.path", "objective.version"),
    "view",  # the code of a view
    "options.stop_words",  # a list of words out of a file: data, which a reading names
)
WARMUPS = ("warmup_ratio", "warmup_steps")  # two forms of one setting: the one that is 0 says nothing


@dataclass(frozen=True)
class PlannedRow:
    """A row of a table or figure, or an exhibit, with what is planned for each of its cells.

    Attributes:
        nodes: id of a cell -> the nodes below it; by the row's id where it has no cells.
    """

    id: str
    nodes: Mapping[str, list[Node]]
    readings: dict[str, Reading]

    def of_step(self, step: Step) -> list[Node]:
        """The nodes that a step is about, each once."""
        return [node for node in self._covered(step.rows) if matches(node, step.nodes)]

    def _covered(self, places: tuple[str, ...]) -> list[Node]:
        """The nodes of the cells that lie in places, each once."""
        if places not in self._in_places:
            cells = (nodes for cell, nodes in self.nodes.items() if lies_within(cell, places))
            self._in_places[places] = _distinct(cells)
        return self._in_places[places]

    @cached_property
    def _in_places(self) -> dict[tuple[str, ...], list[Node]]:
        return {}

    @cached_property
    def all(self) -> list[Node]:
        """Every node with a setting, each once."""
        return [node for node in _distinct(self.nodes.values()) if parameters(node)]


def planned_rows(source: Paper, place: str = "", machine: Machine | None = None) -> list[PlannedRow]:
    """Every row of a paper that has a recipe, as planned at full.

    Of the suite's own studies and rows of reference no paper states anything.

    Args:
        place: the beginning of ids, to which the rows are limited.
        machine: of which no data is asked for; what was called on it is not called again.
    """
    machine = (machine or Machine()).without_data()
    paper_plan, readings = _plan(source, (place or source.name,), machine), CellReadings(machine)
    measured_items = [(m.cell.id.rpartition("/")[0], m.cell, walk(m.parts)) for m in paper_plan.measurements]
    exhibit_items = [(item.id, item, walk([node])) for item, node in paper_plan.exhibits.items()]
    rows: dict[str, PlannedRow] = {}
    for row, item, nodes in (*measured_items, *exhibit_items):
        earlier = rows.get(row, PlannedRow(row, {}, {}))
        rows[row] = PlannedRow(row, {**earlier.nodes, item.id: nodes}, earlier.readings | readings.of(item))
    return list(rows.values())


def _plan(source: Paper, places: tuple[str, ...], machine: Machine) -> Plan:
    """The plan at full of the cells and exhibits of some places."""
    tables = tuple(t for t in (*source.manifest.tables, *figure_tables(source)) if t.kind != "study")
    measured_cells = [
        cell for cell in cells_of(source, tables) if is_measured(cell) and lies_within(cell.id, places)
    ]
    cells = [cell for cell in measured_cells if cell.row.role != "reference"]
    chosen_exhibits = [item for item in exhibits((source.name,), ()) if lies_within(item.id, places)]
    return plan(cells, scale=scale("full"), machine=machine, exhibits=chosen_exhibits)


def planned_alike(source: Paper, rows: Iterable[PlannedRow]) -> Iterator[tuple[str, str]]:
    """Pairs of cells of a column that the same nodes measure, though their published numbers differ."""
    published_cells = {c.id: c for c in cells_of(source) if c.is_numeric and c.role != "cited"}
    seen: dict[tuple, Cell] = {}
    for identifier, nodes in (item for row in rows for item in row.nodes.items()):
        if cell := published_cells.get(identifier):
            place = (cell.table.id, cell.column.id, frozenset(node.fingerprint for node in nodes))
            if seen.setdefault(place, cell).text != cell.text:
                yield identifier, seen[place].id


def lies_within(identifier: str, places: Iterable[str]) -> bool:
    """Whether a cell, row or exhibit lies in one of the places: its table, its row, itself."""
    return not _beginnings(identifier, "/").isdisjoint(places)


def matches(node: Node, description: Nodes | None) -> bool:
    """Whether a node is one of those described."""
    if description is None or node.stage != description.stage:
        return False
    if description.objective and node.params.get("objective", {}).get("name") != description.objective:
        return False
    if any(node.params.get(name) != value for name, value in description.with_.items()):
        return False
    return all(_feeds(node, name, source) for name, source in description.inputs.items())


def _feeds(node: Node, name: str, source: str | Nodes) -> bool:
    inputs = node.inputs.get(name, ())
    description = Nodes(stage=source) if isinstance(source, str) else source
    return any(
        matches(parent, description) for parent in (inputs if isinstance(inputs, tuple) else (inputs,))
    )


@once_a_node  # several steps and rows ask for those of one node
def parameters(node: Node) -> Mapping[str, Any]:
    """The parameters of a node that are settings, by their paths; what is null is not there."""
    if node.stage in DATA:
        return {}
    leaves = dict(_leaves(node.params, ""))
    zeros = [name for name in WARMUPS if leaves.get(name) == 0] if any(map(leaves.get, WARMUPS)) else []
    return {p: v for p, v in leaves.items() if p not in zeros and not begins_path(p, NO_SETTINGS)}


def begins_path(path: str, beginnings: Iterable[str]) -> bool:
    """Whether a path is one of the beginnings or lies below it."""
    return not _beginnings(path, ".").isdisjoint(beginnings)


@cache
def _beginnings(path: str, sign: str) -> frozenset[str]:
    """The path, and what stands before each sign in it."""
    return frozenset([path, *(path[:place] for place, letter in enumerate(path) if letter == sign)])


def at_path(node: Node, path: str) -> Any:
    """The value of a node's parameter, None where it has none."""
    value: Any = node.params
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, value


def _distinct(groups: Iterable[Iterable[Node]]) -> list[Node]:
    return list({node.fingerprint: node for group in groups for node in group}.values())
