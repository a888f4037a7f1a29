"""From selected cells to nodes: what each cell is measured by, and what stands in its way."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.datasets.catalog import Dataset, dataset
from repro.errors import ManifestError, UsageError, unknown
from repro.evaluation.measures import parse_measure
from repro.evaluation.together import measures
from repro.graph import Node, canonical, check_types, walk
from repro.manifest.cells import Cell, Shown, cells_of
from repro.manifest.schema import Reading
from repro.manifest.yaml_file import fault_at
from repro.papers import Paper, load, papers, readings
from repro.request import Choices, Request, Runs
from repro.requirements import Machine, Obstacle
from repro.scale import Scale
from repro.store import Store

COMPUTED = ("index-size",)  # kinds of column whose recipe gives the scores themselves


@dataclass(frozen=True)
class Measurement:
    """How one cell is measured with one seed.

    Attributes:
        groups: evaluations; the cell's value is the mean of a group, of the largest mean where there are
            several. A group has several where a dataset has members or a recipe gives several runs.
        measure: what the cell is scored by; a reading may say another one than its column's.
        departures: readings in force that are not the default.
        substitutes: readings whose original data is not at hand, and why.
    """

    cell: Cell
    seed: int | None
    groups: tuple[tuple[Node, ...], ...]
    measure: str
    departures: Mapping[str, str]
    substitutes: Mapping[str, str]

    @cached_property
    def parts(self) -> tuple[Node, ...]:
        """Every evaluation, each once."""
        return tuple({part.fingerprint: part for group in self.groups for part in group}.values())

    @property
    def runs(self) -> tuple[Node, ...]:
        """The runs these evaluations score, in the order of ``parts``; none where nothing is searched."""
        return tuple(part.inputs["run"] for part in self.parts if "run" in part.inputs)

    @property
    def fingerprint(self) -> str:
        """The identity of what is measured: the one part's, or a digest over all parts'."""
        if len(self.parts) == 1:
            return self.parts[0].fingerprint
        import hashlib

        identity = [[part.fingerprint for part in group] for group in self.groups]
        whole = identity[0] if len(identity) == 1 else identity
        return hashlib.sha256(canonical(whole).encode()).hexdigest()


@dataclass
class Plan:
    """Everything that a selection of cells asks for at one scale.

    Attributes:
        measurements: one per cell and seed that has a recipe.
        unplanned: cells without a recipe.
        machine: what stands in the way of single nodes.
    """

    scale: Scale
    cells: list[Cell]
    measurements: list[Measurement]
    machine: Machine
    exhibits: dict[Shown, Node] = field(default_factory=dict)
    departures: dict[Shown, dict[str, str]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[Node]:
        """Every distinct node, inputs first."""
        return walk(self._ends())

    def _ends(self) -> list[Node]:
        return [part for m in self.measurements for part in m.parts] + list(self.exhibits.values())

    @property
    def asked(self) -> int:
        """Stage calls that the rows would make if nothing were shared between them."""
        rows: dict[tuple, list[Node]] = {}
        for m in self.measurements:
            rows.setdefault((m.cell.paper.name, m.cell.table.id, m.cell.row.id, m.seed), []).extend(m.parts)
        rows |= {(shown.id,): [node] for shown, node in self.exhibits.items()}
        return sum(len(walk(parts)) for parts in rows.values())

    def look(self, store: Store) -> None:
        """Note which nodes the store holds."""
        self.states = {node.fingerprint: store.state(node) for node in self.nodes}

    def needed(self) -> list[Node]:
        """Nodes to run, inputs first: those not stored that something not stored needs."""
        wanted: dict[str, Node] = {}

        def visit(node: Node) -> None:
            if node.fingerprint in wanted or self.states[node.fingerprint] == "stored":
                return
            for parent in node.parents():
                visit(parent)
            wanted[node.fingerprint] = node

        for end in self._ends():
            visit(end)
        return list(wanted.values())

    def obstacles(self, node: Node) -> list[Obstacle]:
        """What stands between the store as it is and this node; empty when nothing does."""
        if self.states.get(node.fingerprint) == "stored":
            return []
        own = self.machine.obstacles.get(node.fingerprint)
        found = [own] if own else []
        for parent in node.parents():
            found += self.obstacles(parent)
        return list(dict.fromkeys(found))


def plan(
    cells: list[Cell],
    *,
    scale: Scale,
    data: Path | None,
    digests: Path | None,
    seeds: tuple[int, ...] = (),
    overrides: Mapping[str, str] | None = None,
    exhibits: Sequence[Shown] = (),
) -> Plan:
    """Call every distinct recipe once and rewrite its graph for the scale and this machine.

    Args:
        cells: numeric cells of result tables, and points of figures.
        exhibits: what is shown rather than tabled.
        seeds: the user's own; none means each paper's.
        overrides: reading id -> choice.

    Raises:
        UsageError: an override names a reading or choice that no selected paper has.
        ManifestError: a cell names a dataset, measure or recipe that does not exist, or options which the
            recipe does not take; says file and line.
    """
    _check_overrides(overrides or {}, {c.paper.name: c.paper for c in (*cells, *exhibits)}.values())
    machine = Machine(data, digests)
    builder = _Builder(scale, machine, overrides or {}, data)
    measurements = [
        builder.measure(cell, seed)
        for cell in _with_members(cells)
        if cell.recipe
        for seed in seeds or (None,)
    ]
    shown = {item: builder.exhibit(item, seeds[0] if seeds else None) for item in exhibits}
    departed = {item: departures for item, (_, departures) in shown.items()}
    _check_overrides_matter(overrides or {}, builder.asked_for())
    return Plan(
        scale, cells, measurements, machine, {item: node for item, (node, _) in shown.items()}, departed
    )


def _with_members(cells: list[Cell]) -> list[Cell]:
    """The cells and, for averages among them, the cells these are averages of."""
    wanted = {c.id: c for c in cells}
    for cell in cells:
        if cell.column.mean_of:
            row = [c for c in cells_of(cell.paper, (cell.table,)) if c.row.id == cell.row.id]
            wanted |= {c.id: c for c in row if c.column.id in cell.column.mean_of and c.id not in wanted}
    return [c for c in wanted.values() if c.column.dataset and c.column.measure]


@dataclass
class _Builder:
    scale: Scale
    machine: Machine
    overrides: Mapping[str, str]
    data: Path | None
    _calls: dict[str, tuple[Node | Runs, Choices]] = field(default_factory=dict)

    def __post_init__(self):
        self._rewrite = self.scale.rewriter()

    def measure(self, cell: Cell, seed: int | None) -> Measurement:
        entry = _catalogued(cell)
        members = [dataset(m) for m in entry.members] or [entry]
        calls = [self._call(cell, member.id, seed) for member in members]
        choices = calls[0][1]
        measure = choices.measured_as.get(cell.column.measure, cell.column.measure)
        if cell.column.kind in COMPUTED:
            part = self._finish(calls[0][0])
            return Measurement(cell, seed, ((part,),), measure, choices.departures(), {})
        runs = [made if isinstance(made, Runs) else Runs(((made,),)) for made, _ in calls]
        groups = tuple(
            tuple(
                self._finish(evaluation(run, member, measure, choices.scoring))
                for of_member, member in zip(runs, members, strict=True)
                for run in of_member.groups[number]
            )
            for number in range(len(runs[0].groups))
        )
        # at other scales every collection is a stand-in: that one more is missing says nothing
        at_full = self.scale.compares_with_print
        substitutes = choices.substitutes if at_full else {}
        hidden = () if at_full else choices.substitutes
        departures = {k: v for k, v in choices.departures().items() if k not in hidden}
        return Measurement(cell, seed, groups, measure, departures, substitutes)

    def exhibit(self, shown: Shown, seed: int | None) -> tuple[Node, dict[str, str]]:
        """The finished node of something shown, and the choices it used that are not the default."""
        made, choices = self._call(shown, shown.exhibit.dataset or "", seed)
        hidden = () if self.scale.compares_with_print else choices.substitutes
        return self._finish(made), {k: v for k, v in choices.departures().items() if k not in hidden}

    def asked_for(self) -> set[str]:
        """Every reading that some recipe asked for."""
        return {identifier for _, choices in self._calls.values() for identifier in choices.used}

    def _finish(self, node: Node) -> Node:
        node = self.machine.resolve(self._rewrite(node))
        check_types(node)
        return node

    def _call(self, cell: Cell | Shown, identifier: str, seed: int | None) -> tuple[Node | Runs, Choices]:
        """The recipe's node for one dataset; the same call is made once."""
        path = recipe_path(cell)
        key = canonical([path, cell.paper.name, identifier, seed, cell.options])
        if key not in self._calls:
            recipe = _recipe(cell, path)
            choices = Choices(readings_for(cell.paper, path), self.overrides, self.data)
            self._calls[key] = recipe(Request(identifier, choices, seed), **cell.options), choices
        return self._calls[key]


def evaluation(run: Node, entry: Dataset, measure: str, scoring: Mapping[str, bool]) -> Node:
    """The per-query scores of a run by the dataset's own measures (and the cell's, if it is another)."""
    params: dict[str, Any] = {
        "measures": measures(entry.id, measure),
        "ignore_identical_ids": entry.ignore_identical_ids,
        "judgements": entry.judgements,
        **scoring,
    }
    inputs = {"run": run, "qrels": Node("qrels", {"dataset": entry.id})}
    if entry.judgements == "answers":
        inputs["queries"] = Node("queries", {"dataset": entry.id})
        inputs["corpus"] = Node("corpus", {"dataset": entry.corpus_id})
    return Node("evaluate", params, inputs)


def recipe_path(cell: Cell | Shown) -> str:
    """``module:function``; a bare name means the paper's own recipes.py."""
    recipe = cell.recipe
    return recipe if ":" in recipe else f"{cell.paper.package}.recipes:{recipe}"


def readings_for(source: Paper, path: str) -> dict[str, Reading]:
    """The readings a recipe may ask for: its home's, then those of the paper whose row it makes."""
    module = Path(load(path.partition(":")[0] + ":__file__"))
    home = papers().get(module.parent.name)
    if home is not None and home.folder == module.parent:
        return {**source.readings, **home.readings}
    return {**source.readings, **readings(module.with_name("readings.yaml"))}


def _recipe(cell: Cell | Shown, path: str) -> Callable[..., Node | Runs]:
    """The function that makes the cell. Raises ManifestError when there is none that takes its options."""
    try:
        function = load(path)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise _fault(cell, "recipe", f"recipe {path!r} does not exist: {error}") from None
    try:
        inspect.signature(function).bind(None, **cell.options)
    except TypeError as error:
        raise _fault(cell, "recipe", f"recipe {path!r}: {error}") from None
    return function


def _catalogued(cell: Cell) -> Dataset:
    """The dataset of a cell whose measure is known too. Raises ManifestError when one of them is not."""
    key = "measure"
    try:
        if cell.column.kind not in COMPUTED:
            parse_measure(cell.column.measure)
        key = "dataset"
        return dataset(cell.column.dataset)
    except UsageError as error:
        raise _fault(cell, key, str(error)) from None


def _fault(cell: Cell | Shown, key: str, reason: str) -> ManifestError:
    """The error about what the cell's column, or else its row, says under ``key``; with its line."""
    if isinstance(cell, Shown) or cell.table.kind == "figure":
        return ManifestError(f"{cell.paper.folder / 'cells.yaml'}: {cell.id}: {reason}")
    table = cell.table
    part = (
        ("columns", table.columns.index(cell.column))
        if getattr(cell.column, key)
        else ("rows", table.rows.index(cell.row))
    )
    location = ("tables", cell.paper.manifest.tables.index(table), *part, key)
    return fault_at(cell.paper.folder / "cells.yaml", location, f"cell {cell.id}: {reason}")


def _check_overrides(overrides: Mapping[str, str], sources: Iterable[Paper]) -> None:
    known: dict[str, Reading] = {}
    for source in sources:
        known |= source.readings
    for identifier, choice in overrides.items():
        if identifier not in known:
            raise unknown("reading of the selected papers", identifier, known)
        if choice not in known[identifier].choices:
            raise unknown(f"choice of reading {identifier!r}", choice, known[identifier].choices)


def _check_overrides_matter(overrides: Mapping[str, str], asked_for: set[str]) -> None:
    """A switch that changes nothing must not look as if it had."""
    for identifier in overrides:
        if identifier not in asked_for:
            raise UsageError(
                f"reading {identifier!r} changes nothing here: no recipe of the selected cells asks for it; "
                f"they ask for {', '.join(sorted(asked_for)) or 'none'}"
            )
