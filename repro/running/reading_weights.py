"""The weight of each reading: the cells that another choice changes, how deep, and what it takes to know.

The weight is an order and no measurement: a plan tells where a choice takes hold, not what it does to a
number. A choice of a loss, a model or data goes before one of the schedule, of lengths, of scoring, and of
seed or precision; within these the published numbers that it can decide count, times the factor between two
choices.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from repro.graph import Node, canonical
from repro.manifest.cells import Cell, ShownExhibit
from repro.manifest.reading_schema import Reading
from repro.running.cell_readings import KINDS, PART_OF, PARTS, CellReadings, RecipeGraphs
from repro.running.cost.work import work

SCHEDULE = ("texts_per_batch", "queries_per_batch", "passages_per_query", "epochs", "max_steps")
SCHEDULE += ("learning_rate", "warmup_ratio", "warmup_steps", "schedule", "weight_decay", "max_grad_norm")
TEXT = ("length", "query_length", "passage_length", "separator")
UNSEEN = ("objective.path", "objective.version")
NOISE = ("seed", "precision", "decimals")
LONGEST = 60  # of a value that is told, in characters: a list of words has thousands
ASPECTS = ("loss, model or data", "schedule", "text", "scoring", "seed or precision", "")


@dataclass(frozen=True)
class Change:
    """The change that another choice of a reading makes to a cell.

    Attributes:
        choice: its name.
        part: the first of ``PARTS`` that is made anew.
        what: the parameters that differ first, with both values.
        aspect: the first of ``ASPECTS`` among them.
        factor: the largest ratio between two numbers of them; 1 without one.
        operations: floating-point operations that a measurement takes beside those of the default; None where
            a count that they depend on is not known.
    """

    cell: Cell | ShownExhibit
    choice: str
    part: str
    what: tuple[str, ...]
    aspect: str
    factor: float
    operations: float | None


@dataclass(frozen=True)
class Weight:
    """A reading, the cells that ask for it, and what its other choices change of the first that they change.

    Attributes:
        changes: empty for a note, whose choices change nothing that is planned.
    """

    reading: Reading
    cells: tuple[Cell | ShownExhibit, ...]
    changes: tuple[Change, ...]

    @property
    def decides(self) -> int:
        """The number of published results whose verdict it can decide; none where nothing is changed."""
        published = [c for c in self.cells if isinstance(c, Cell) and c.is_numeric]
        return sum(c.table.kind == "results" for c in published) if self.changes else 0

    @property
    def first(self) -> Change | None:
        """The change that weighs most."""
        return min(self.changes, key=_change_order, default=None)

    @property
    def cheapest(self) -> Change | None:
        """The change that is cheapest to know."""
        candidates = [change for change in self.changes if change.operations is not None]
        return min(candidates, key=lambda change: change.operations or 0, default=None)


def weights(cells: Iterable[Cell | ShownExhibit], known: CellReadings) -> list[Weight]:
    """The readings that cells rest on, the weightiest first and notes last."""
    by_reading: dict[str, tuple[Reading, list[Cell | ShownExhibit]]] = {}
    for cell in cells:
        for identifier, reading in known.of(cell).items():
            by_reading.setdefault(identifier, (reading, []))[1].append(cell)
    items = [
        Weight(reading, tuple(group), _changes(reading, group, known))
        for reading, group in by_reading.values()
    ]
    return sorted(items, key=_weight_order)


def _weight_order(weight: Weight) -> tuple:
    first = weight.first
    if first is None:
        return (len(ASPECTS), 0, KINDS.index(weight.reading.kind))
    factor = max(change.factor for change in weight.changes)
    return (ASPECTS.index(first.aspect), -weight.decides * factor, PARTS.index(first.part))


def _change_order(change: Change) -> tuple:
    return (ASPECTS.index(change.aspect), PARTS.index(change.part), -change.factor)


def _changes(
    reading: Reading, cells: Iterable[Cell | ShownExhibit], cell_readings: CellReadings
) -> tuple[Change, ...]:
    """The changes by all other choices of the first cell that one of them changes."""
    seen = set()
    for cell in cells:
        default = cell_readings.made(cell, {})
        place = (cell.id.rpartition("/")[0], *_column(cell))
        if default is None or reading.id not in default.readings or place in seen:
            continue
        seen.add(place)
        other_choices = [c for c in reading.choices if c != default.choices.used[reading.id]]
        changes = tuple(
            filter(None, (_change(cell, reading, choice, cell_readings) for choice in other_choices))
        )
        if changes:
            return changes
    return ()


def _change(
    cell: Cell | ShownExhibit, reading: Reading, choice: str, cell_readings: CellReadings
) -> Change | None:
    """The change by one choice; None where it changes nothing."""
    default, other = cell_readings.made(cell, {}), cell_readings.made(cell, {reading.id: choice})
    new_nodes, removed_nodes = _node_difference(other, default), _node_difference(default, other)
    _, measure = _column(cell)
    scoring_changed = other.scored(measure) != default.scored(measure)
    if not (new_nodes or removed_nodes or scoring_changed):
        return None
    differences = list(_differences(_roots(new_nodes), _roots(removed_nodes)))
    aspects = [_aspect(path) for _, path, _, _ in differences] or [
        "scoring" if scoring_changed else ASPECTS[0]
    ]
    return Change(
        cell=cell,
        choice=choice,
        part=_part({**new_nodes, **removed_nodes}.values()),
        what=tuple(f"{node.stage} {path} {_shorten(b)} → {_shorten(a)}" for node, path, b, a in differences),
        aspect=min(aspects, key=ASPECTS.index),
        factor=max((_factor(node, before, after) for node, _, before, after in differences), default=1.0),
        operations=_operations(new_nodes.values()),
    )


def _part(nodes: Iterable[Node]) -> str:
    """The first part of the work that is made anew; scoring where nothing is."""
    parts = [PART_OF.get(node.stage, "retrieval") for node in nodes]
    return min(parts, key=PARTS.index, default="scoring")


def _operations(nodes: Iterable[Node]) -> float | None:
    works = [work(node) for node in nodes]
    return sum(w.operations for w in works) if all(w.is_known for w in works) else None


def _column(item: Cell | ShownExhibit) -> tuple[str | None, str | None]:
    """Dataset and measure of a cell; an exhibit has neither."""
    return (item.column.dataset, item.column.measure) if isinstance(item, Cell) else (None, None)


def _node_difference(one: RecipeGraphs, other: RecipeGraphs) -> dict[str, Node]:
    return {fingerprint: node for fingerprint, node in one.nodes.items() if fingerprint not in other.nodes}


def _roots(changed_nodes: Mapping[str, Node]) -> list[Node]:
    """The nodes that differ by themselves, and not by what they are made from alone."""
    return [
        node
        for node in changed_nodes.values()
        if not any(p.fingerprint in changed_nodes for p in node.parents())
    ]


def _differences(new_nodes: list[Node], removed_nodes: list[Node]) -> Iterator[tuple[Node, str, Any, Any]]:
    """A node with a path of it, the value before, and the value after; one node of each stage is told."""
    old_by_stage, new_by_stage = (
        {node.stage: node for node in reversed(nodes)} for nodes in (removed_nodes, new_nodes)
    )
    for stage in {**old_by_stage, **new_by_stage}:
        before, after = old_by_stage.get(stage), new_by_stage.get(stage)
        if before and after:
            yield from ((before, *values) for values in _values(before, after))
        else:
            yield before or after, "", *(("with", "without") if before else ("without", "with"))


def _values(before: Node, after: Node) -> Iterator[tuple[str, Any, Any]]:
    """The paths of parameters and inputs by which two nodes differ, with both values."""
    one, other = (dict(_leaves(node.params, "")) | _inputs(node) for node in (before, after))
    for path in dict.fromkeys([*one, *other]):
        if path not in UNSEEN and one.get(path) != other.get(path):
            yield path, one.get(path), other.get(path)


def _inputs(node: Node) -> dict[str, str]:
    """The stages that feed each input."""
    sources = {k: v if isinstance(v, tuple) else (v,) for k, v in node.inputs.items()}
    return {f"{name} from": " and ".join(n.stage for n in nodes) for name, nodes in sources.items()}


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _aspect(path: str) -> str:
    name = path.rpartition(".")[2]
    groups = {**dict.fromkeys(SCHEDULE, 1), **dict.fromkeys(TEXT, 2), **dict.fromkeys(NOISE, 4)}
    return ASPECTS[groups.get(name, 0)]


def _factor(node: Node, before: Any, after: Any) -> float:
    """The ratio of two numbers, the larger over the smaller; 1 where there is none.

    A sum is as many times its mean as it has terms: at least the texts of a batch.
    """
    if [before, after] in (["mean", "sum"], ["sum", "mean"]):
        return float(node.params.get("texts_per_batch") or node.params.get("queries_per_batch") or 1)
    numbers = [
        abs(v) for v in (before, after) if isinstance(v, int | float) and not isinstance(v, bool) and v
    ]
    return max(numbers) / min(numbers) if len(numbers) == 2 else 1.0


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
