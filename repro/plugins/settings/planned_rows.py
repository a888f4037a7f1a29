"""The planned stages of a row, and the values that settings.yaml expects, e.g. 5e-06 for "5 × 10⁻⁶"."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from repro.errors import ReproError, UsageError, check_known
from repro.graph import Node, cached_per_node, canonical, each_node, walk
from repro.manifest.cells import Cell, ShownExhibit, cell, cells_of, exhibits, figure_tables, is_measured
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.plugins.settings.schema import Nodes, Setting, SourcedValue, Step
from repro.running.cell_readings import CellReadings
from repro.running.measurement import MeasurementBuilder
from repro.running.plan import evaluated_cells
from repro.running.recipe_calls import is_made_at
from repro.running.requirements import Machine
from repro.running.scale import scale

DATA = ("evaluate", "corpus", "queries", "qrels")
NO_SETTINGS = (
    *("dataset", "identity", "source", "revision", "kind", "objective.path", "objective.version"),
    "view",
    "options.stop_words",
)
WARMUPS = ("warmup_ratio", "warmup_steps")  # two forms of one setting. A 0 is ignored


@dataclass(frozen=True)
class PlannedRow:
    """A row or an exhibit. ``nodes`` are its planned stages by id of cell or exhibit."""

    id: str
    nodes: Mapping[str, list[Node]]
    readings: dict[str, Reading]

    def of_step(self, step: Step) -> list[Node]:
        return [n for n in self.covered(step.rows) if matches(n, step.nodes)]

    def covered(self, places: tuple[str, ...]) -> list[Node]:
        if places not in self._in_places:
            cells = [nodes for cell, nodes in self.nodes.items() if lies_within(cell, places)]
            self._in_places[places] = _distinct(cells)
        return self._in_places[places]

    @cached_property
    def _in_places(self) -> dict[tuple[str, ...], list[Node]]:
        return {}

    @cached_property
    def all(self) -> list[Node]:
        return [n for n in _distinct(self.nodes.values()) if parameters(n)]


def planned_rows(source: Paper, place: str = "", machine: Machine | None = None) -> list[PlannedRow]:
    """Return a paper's rows as planned at full scale, if their ids begin with ``place``."""
    machine = (machine or Machine()).without_data()
    readings = machine.once(CellReadings, lambda: CellReadings(machine))
    rows: dict[str, PlannedRow] = {}
    for row, item, nodes in _items(source, (place or source.name,), machine):
        earlier = rows.get(row, PlannedRow(row, {}, {}))
        rows[row] = PlannedRow(row, {**earlier.nodes, item.id: nodes}, earlier.readings | readings.of(item))
    return list(rows.values())


def _items(
    source: Paper, places: tuple[str, ...], machine: Machine
) -> Iterator[tuple[str, Cell | ShownExhibit, list[Node]]]:
    full = scale("full")
    builder = MeasurementBuilder(full, machine)  # plan() would change remedies of the machine
    for c in evaluated_cells([c for c in _cells(source) if lies_within(c.id, places)]):
        if is_made_at(c, full):
            yield c.row_path, c, walk(builder.measure(c, None).parts)
    for item in exhibits((source.name,)):
        if lies_within(item.id, places) and is_made_at(item, full):
            yield item.id, item, walk(builder.exhibit(item, None)[:1])


def _cells(source: Paper) -> list[Cell]:
    tables = tuple(t for t in (*source.manifest.tables, *figure_tables(source)) if t.kind != "study")
    return [c for c in cells_of(source, tables) if is_measured(c) and c.row.role != "reference"]


def planned_alike(source: Paper, rows: Iterable[PlannedRow]) -> Iterator[tuple[str, str]]:
    """Yield pairs of ids of cells with equal stages but different published numbers, in one column."""
    published_cells = {c.id: c for c in cells_of(source) if c.is_numeric and c.role != "cited"}
    seen: dict[tuple, Cell] = {}
    for identifier, nodes in (item for row in rows for item in row.nodes.items()):
        if cell := published_cells.get(identifier):
            place = (cell.table.id, cell.column.id, frozenset(n.fingerprint for n in nodes))
            if seen.setdefault(place, cell).text != cell.text:
                yield identifier, seen[place].id


def lies_within(identifier: str, places: Iterable[str]) -> bool:
    return not _beginnings(identifier, "/").isdisjoint(places)


def matches(node: Node, description: Nodes | None) -> bool:
    if description is None or node.stage != description.stage:
        return False
    if description.objective and node.params.get("objective", {}).get("name") != description.objective:
        return False
    if any(node.params.get(name) != value for name, value in description.with_.items()):
        return False
    return all(_feeds(node, name, source) for name, source in description.inputs.items())


def _feeds(node: Node, name: str, source: str | Nodes) -> bool:
    description = Nodes(stage=source) if isinstance(source, str) else source
    return any(matches(parent, description) for parent in each_node(node.inputs.get(name, ())))


@cached_per_node
def parameters(node: Node) -> Mapping[str, Any]:
    """Return those parameters of a stage that are settings, by their paths."""
    if node.stage in DATA:
        return {}
    leaves = dict(_leaves(node.params, ""))
    zeros = [name for name in WARMUPS if leaves.get(name) == 0] if any(map(leaves.get, WARMUPS)) else []
    return {p: v for p, v in leaves.items() if p not in zeros and not begins_path(p, NO_SETTINGS)}


def begins_path(path: str, beginnings: Iterable[str]) -> bool:
    return not _beginnings(path, ".").isdisjoint(beginnings)


@cache
def _beginnings(path: str, sign: str) -> frozenset[str]:
    return frozenset([path, *(path[:place] for place, letter in enumerate(path) if letter == sign)])


def at_path(node: Node, path: str) -> Any:
    return _value_below(node.params, path.split("."))


def _value_below(value: Any, keys: Iterable[str]) -> Any:
    for key in keys:
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


_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?: × 10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?P<unit>[kM%]?)[*†‡]*")
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "%": 1e-2}
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SCALARS = (str, int, float, type(None))
NOT_APPLICABLE = ("n.a.", "-", "–")


@dataclass(frozen=True)
class ExpectedValue:
    """The value that the plan should have (None: no such parameter), or a ``fault``. If ``set_of``, ``value``
    lists the values of all stages together.
    """

    value: Any = None
    set_of: bool = False
    fault: str = ""

    def is_met_by(self, planned: list[Any]) -> bool:
        values = self.value if self.set_of else [self.value]
        return {_comparison_key(value) for value in values} == {_comparison_key(value) for value in planned}


def published_value(stated: SourcedValue, row: str) -> Any:
    """Return the published value of a row. Raises UsageError if ``by`` has none."""
    value = stated.published
    if value is None and stated.cell:
        value = cell_value(cell(stated.cell).text)
        value = value + stated.plus if isinstance(value, int | float) else value
    if _has_only("by", value):
        place = next((place for place in value["by"] if f"{row}/".startswith(f"{place}/")), row)
        check_known("row with a value under by", place, valid=value["by"])
        return value["by"][place]
    return value


def _has_only(key: str, value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {key}


def cell_value(text: str) -> Any:
    """Return the value of a cell of settings, e.g. 30000 for "30k", None for "n.a."."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None if text.strip() in NOT_APPLICABLE else text.strip()
    number = float(f"{match['number']}e{(match['power'] or '0').translate(_SUPERSCRIPTS)}")
    number = round(number * _UNITS[match["unit"]], 12)
    return int(number) if number.is_integer() else number


def expected(setting: Setting, row: str, readings: Mapping[str, Reading]) -> ExpectedValue:
    """Return the value that a paper's setting requires of a row's stages, or why the setting is faulty."""
    try:
        published = published_value(setting, row)
        default, choices = _reading_values(setting.reading, readings) if setting.reading else (None, [])
    except ReproError as error:
        return ExpectedValue(fault=str(error))
    if _disagrees(setting, published) and not setting.reading:
        says = "text and script state different values (name the unspecified choice between them)"
        return ExpectedValue(fault=says)
    value, stated = setting.taken(published, default), [published, setting.released]
    if setting.departs and _is_number(value) and not _is_among(value, [*stated, *choices]):
        says = f"neither text, script nor {setting.reading!r} has {value} (correct planned)"
        return ExpectedValue(fault=says)
    if missing := _numbers_without_choice(stated, value, choices):
        says = f"{setting.reading!r} lacks the stated value {missing[0]} (correct either)"
        return ExpectedValue(fault=says)
    is_set = _has_only("any", value)
    return ExpectedValue(_as_list(value) if is_set else value, is_set)


class ExpectedValues:
    """Computes expected values of settings, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple, Any] = {}

    def once(self, key: tuple, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def key(self, setting: Setting, row: str, readings: Mapping[str, Reading]) -> tuple:
        """Return a key that only equal values share, as ``of`` keeps its objects."""
        row_key = row if _has_only("by", setting.published) else ""
        return id(setting), row_key, id(readings.get(_identifier(setting.reading, readings)))

    def of(self, setting: Setting, row: str, readings: Mapping[str, Reading]) -> ExpectedValue:
        key = self.key(setting, row, readings)
        return self.once(key, lambda: (expected(setting, row, readings), setting, {**readings}))[0]


def _numbers_without_choice(values: list[Any], planned_value: Any, choices: list[Any]) -> list[str]:
    if not all(_is_among(value, choices) for value in _as_list(planned_value)):
        return []
    items = [item for value in values for item in _as_list(value)]
    return [_comparison_key(item) for item in items if _is_number(item) and not _is_among(item, choices)]


def _is_among(value: Any, values: list[Any]) -> bool:
    return _comparison_key(value) in {_comparison_key(item) for entry in values for item in _as_list(entry)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _disagrees(setting: Setting, published: Any) -> bool:
    if not setting.is_published or setting.released is None:
        return False
    return not ExpectedValue(_as_list(published), set_of=True).is_met_by(_as_list(setting.released))


def _reading_values(name: str, readings: Mapping[str, Reading]) -> tuple[Any, list[Any]]:
    identifier = _identifier(name, readings)
    if not identifier:
        raise UsageError(f"the row uses no unspecified choice {name!r} (see `repro show readings`)")
    reading, keys = readings[identifier], [*filter(None, name[len(identifier) + 1 :].split("."))]
    value = reading.choices[reading.default]
    for key in keys:
        valid = value if isinstance(value, Mapping) else ()
        check_known(f"value of {identifier!r}", key, valid=valid)
        value = value[key]
    return value, [_value_below(choice, keys) for choice in reading.choices.values()]


def _identifier(name: str, readings: Mapping[str, Reading]) -> str:
    while name and name not in readings:
        name = name.rpartition(".")[0]
    return name


def _as_list(value: Any) -> list[Any]:
    return list(value["any"]) if _has_only("any", value) else [value]


def _comparison_key(value: Any) -> str:
    return _scalar_key(value) if isinstance(value, _SCALARS) else canonical(_normalise(value))


@lru_cache(maxsize=None, typed=True)
def _scalar_key(value: str | int | float | None) -> str:
    return canonical(_normalise(value))


def _normalise(value: Any) -> Any:
    """Turn whole floats into integers, e.g. 1.0 into 1."""
    if isinstance(value, Mapping):
        return {key: _normalise(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normalise(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
