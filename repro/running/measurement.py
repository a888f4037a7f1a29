"""The measurement of a cell, e.g. `PAPER/1/ROW/COLUMN`, by a call of its recipe."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from repro import errors, stage_table
from repro.graph import Node, canonical, check_types, digest_of, walk
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, ShownExhibit
from repro.retrieval.datasets.catalog import Dataset, dataset
from repro.retrieval.evaluation.measures import looks_deeper, parse_measure
from repro.retrieval.recipe.request import Choices, Runs
from repro.retrieval.training.declaration import check_options
from repro.running.recipe_calls import call_recipe, fault, recipe_fault, recipe_path
from repro.running.requirements import Machine
from repro.running.scale import Scale

UNITS = ("fraction", "percent")
COMPUTED = ("index-size",)  # scored by the recipe


@dataclass(frozen=True)
class Measurement:
    """The evaluations of one cell with one seed.

    Attributes:
        groups: groups of evaluations. The cell's value is the highest of their means.
        measure: e.g. "RR@10", the column's or a reading's.
        departures: reading -> choice other than the default that changes the evaluations.
        substitutes: reading -> why another choice replaced the one that needs absent data.
    """

    cell: Cell
    seed: int | None
    groups: tuple[tuple[Node, ...], ...]
    measure: str
    departures: Mapping[str, str]
    substitutes: Mapping[str, str]

    @cached_property
    def parts(self) -> tuple[Node, ...]:
        return tuple({part.fingerprint: part for group in self.groups for part in group}.values())

    @property
    def runs(self) -> tuple[Node, ...]:
        """The scored runs. Empty if nothing is searched."""
        return tuple(part.input("run") for part in self.parts if "run" in part.inputs)

    @property
    def cut_at(self) -> int | None:
        """The depth of the runs if the measure looks deeper, e.g. 100 for "R@1000", otherwise None."""
        return None if self.cell.column.kind in COMPUTED else cut_at(self.runs, self.measure)

    @cached_property
    def collections(self) -> tuple[str, ...]:
        qrels = [part.input("qrels") for part in self.parts if "qrels" in part.inputs]
        nodes = qrels or [n for n in walk(self.parts) if n.stage == "corpus"]
        return tuple(dict.fromkeys(n.params["dataset"] for n in nodes))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the only part, or a digest of all."""
        if len(self.parts) == 1:
            return self.parts[0].fingerprint
        identity = [[part.fingerprint for part in group] for group in self.groups]
        return digest_of(identity[0] if len(identity) == 1 else identity)

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.fingerprint, self.measure, self.cell.unit


@dataclass
class MeasurementBuilder:
    """Builds measurements. Calls each distinct recipe once and shares nodes between rows."""

    scale: Scale
    machine: Machine
    overrides: Mapping[str, str] = field(default_factory=dict)
    _calls: dict[tuple, tuple[Node | Runs, Choices]] = field(default_factory=dict)
    _with_fewer: dict[str, "MeasurementBuilder"] = field(default_factory=dict)

    def __post_init__(self):
        # plans of one scale share their nodes
        made = self.scale, self.scale.rewriter(), dict[Node, Node](), set[str]()
        _, self._rewrite, self._finished, self._checked = self.machine.once(id(self.scale), lambda: made)

    def measure(self, cell: Cell, seed: int | None) -> Measurement:
        """Return a cell's measurement. Raises ManifestError."""
        with self._about(cell):
            made = self._measure(cell, seed)
        choices = made.departures, made.substitutes
        departures = self._effective(*choices, lambda builder: builder._measure(cell, seed).identity)
        return made if departures == made.departures else replace(made, departures=departures)

    def _measure(self, cell: Cell, seed: int | None) -> Measurement:
        entry, measure = _catalogued(cell)
        if cell.column.kind in COMPUTED:
            part, choices = self._computed(cell, entry.id, seed)
            measure = choices.measured_as.get(measure, measure)
            return Measurement(cell, seed, ((part,),), measure, *self._readings(choices))
        members = [dataset(m) for m in entry.members] or [entry]
        calls = [self._call(cell, member.id, seed) for member in members]
        choices = calls[0][1]
        measure = choices.measured_as.get(measure, measure)
        runs = [result if isinstance(result, Runs) else Runs(((result,),)) for result, _ in calls]
        groups = tuple(
            tuple(
                self._evaluation(run, member, measure, choices.scoring)
                for member_runs, member in zip(runs, members, strict=True)
                for run in member_runs.groups[number]
            )
            for number in range(len(runs[0].groups))
        )
        return Measurement(cell, seed, groups, measure, *self._readings(choices))

    def _evaluation(self, run: Node, member: Dataset, measure: str, scoring: Mapping[str, bool]) -> Node:
        evaluation = self._finish(shared_evaluation(run, member, measure, scoring, machine=self.machine))
        if reason := self.scale.undefined(measure, member.id):
            raise errors.UsageError(f"{reason}, use another choice or scale")
        check_depths((run,), measure)
        return evaluation

    def exhibit(self, shown: ShownExhibit, seed: int | None) -> tuple[Node, dict[str, str]]:
        """Return an exhibit's stage, and its choices that depart from a default."""
        with self._about(shown):
            node, departures, substitutes = self._exhibit(shown, seed)
        return node, self._effective(
            departures, substitutes, lambda builder: builder._exhibit(shown, seed)[0].fingerprint
        )

    def _exhibit(self, shown: ShownExhibit, seed: int | None) -> tuple[Node, dict[str, str], dict[str, str]]:
        node, choices = self._computed(shown, shown.exhibit.dataset or "", seed)
        return node, *self._readings(choices)

    def _computed(self, cell: Cell | ShownExhibit, identifier: str, seed: int | None) -> tuple[Node, Choices]:
        result, choices = self._call(cell, identifier, seed)
        if isinstance(result, Runs):
            raise recipe_fault(cell, " returns Runs instead of one node")
        return self._finish(result), choices

    @contextmanager
    def _about(self, cell: Cell | ShownExhibit) -> Iterator[None]:
        try:
            yield
        except errors.UsageError as error:
            if self.overrides:
                raise
            raise recipe_fault(cell, f": {error}") from error

    def _effective(
        self,
        departures: Mapping[str, str],
        substitutes: Mapping[str, str],
        identity: Callable[["MeasurementBuilder"], Any],
    ) -> dict[str, str]:
        candidates = sorted(departures.keys() & self.overrides.keys() - substitutes.keys())
        target, overrides = identity(self) if candidates else None, dict(self.overrides)
        for reading in candidates:
            candidate = {key: choice for key, choice in overrides.items() if key != reading}
            try:
                is_same = identity(self._but(candidate)) == target
            except errors.ReproError:  # the recipe refuses the default
                is_same = False
            overrides = candidate if is_same else overrides
        dropped_ids = self.overrides.keys() - overrides.keys()
        return {reading: choice for reading, choice in departures.items() if reading not in dropped_ids}

    def _but(self, overrides: dict[str, str]) -> "MeasurementBuilder":
        builder = MeasurementBuilder(self.scale, self.machine, overrides, _with_fewer=self._with_fewer)
        return self._with_fewer.setdefault(canonical(overrides), builder)

    def asked_for(self) -> set[str]:
        """Return the ids of readings that a recipe used."""
        return {identifier for _, choices in self._calls.values() for identifier in choices.used}

    def in_full_precision(self) -> dict[str, str]:
        """Return reading -> the choice that avoids half precision."""
        return {k: v for _, choices in self._calls.values() for k, v in choices.in_full_precision.items()}

    def _readings(self, choices: Choices) -> tuple[dict[str, str], dict[str, str]]:
        if self.scale.has_originals:
            return choices.departures(), dict(choices.substitutes)
        return {k: v for k, v in choices.departures().items() if k not in choices.substitutes}, {}

    def _finish(self, node: Node) -> Node:
        if node not in self._finished:
            finished = self.machine.resolve(self._rewrite(self.machine.shared(node)))
            for part in walk([finished], until=lambda part: part.fingerprint in self._checked):
                stage_table.check_choices(part.stage, part.params)
                stage_table.check_numbers(part.params)
                check_types(part)
                check_options(part)
                self._checked.add(part.fingerprint)
            self._finished[node] = finished
        return self._finished[node]

    def _call(
        self, cell: Cell | ShownExhibit, identifier: str, seed: int | None
    ) -> tuple[Node | Runs, Choices]:
        key = recipe_path(cell), cell.paper.name, identifier, seed, repr(cell.options)
        if key not in self._calls:
            has_originals, request = self.scale.has_originals, (identifier, self.overrides, seed)
            call = call_recipe(cell, *request, machine=self.machine, originals_only=has_originals)
            self._calls[key] = call
            self.machine.stand_ins.update(self._calls[key][1].missing)
        return self._calls[key]


def shared_evaluation(
    run: Node, entry: Dataset, measure: str, scoring: Mapping[str, bool], *, machine: Machine
) -> Node:
    """Return the stage that scores a run. Cells with the same run share it."""
    key = ("evaluation", run, entry.id, *measures(entry.id, measure), *sorted(scoring.items()))
    if key not in machine.calls:
        machine.calls[key] = evaluation(run, entry, measure, scoring)
    return machine.calls[key]


def evaluation(run: Node, entry: Dataset, measure: str, scoring: Mapping[str, bool]) -> Node:
    """Return the stage that scores a run for each query."""
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


def _catalogued(cell: Cell) -> tuple[Dataset, str]:
    measure, identifier, key = cell.column.measure, cell.column.dataset, "measure"
    assert measure and identifier
    try:
        if cell.column.kind not in COMPUTED:
            parse_measure(measure)
        key = "unit"
        units = (measure,) if cell.column.kind in COMPUTED else UNITS
        errors.check_known("unit of this measure", cell.unit, valid=units)
        key = "dataset"
        return dataset(identifier), measure
    except errors.UsageError as error:
        raise fault(cell, key, str(error)) from None


def depth_of(run: Node) -> float:
    depth = run.params.get("depth", math.inf)
    if run.stage == "rerank":
        return min(depth_of(run.input("run")), max(depth, run.params["keep"]))
    return depth


def cut_at(runs: Iterable[Node], measure: str) -> int | None:
    """Return the depth of the shortest run if the measure looks deeper, otherwise None."""
    depth = min(map(depth_of, runs), default=math.inf)
    return int(depth) if looks_deeper(measure, depth) else None


def check_depths(runs: Iterable[Node], measure: str) -> None:
    """Raise UsageError if the measure looks deeper than a run."""
    if depth := cut_at(runs, measure):
        cutoff = parse_measure(measure).cutoff
        raise errors.UsageError(f"its run has {depth} documents per query, but {measure} needs {cutoff}")


RULES = ("ignore_identical_ids", "judgements")


def import_of(cell: Cell, made: Measurement | None, machine: Machine, file: Mapping[str, str]) -> Measurement:
    """Return a cell's measurement by an imported run, scored as ``made`` if given.

    ``file`` has the run's sha256, name and ``source``.
    """
    entry, measure = _catalogued(cell)
    run = Node("imported_run", {"dataset": entry.id, **file})
    if made:
        part, measure = made.parts[0], made.measure
    else:
        part = machine.resolve(evaluation(run, entry, measure, {}))
    evaluation_node = Node("evaluate", part.params, {**part.inputs, "run": run})
    return Measurement(cell, None, ((evaluation_node,),), measure, {}, {})


def scoring_settings(measurement: Measurement) -> dict[str, Any]:
    """Return an imported run's dataset and scoring rules for its record."""
    params = measurement.parts[0].params
    return {"dataset": measurement.cell.column.dataset} | {name: params[name] for name in RULES}


def measures(dataset: str, wanted: str) -> list[str]:
    """Return the names of ``wanted`` and of the dataset's listed measures, sorted."""
    return sorted({*listed_measures(dataset), wanted})


@cache
def listed_measures(dataset: str) -> tuple[str, ...]:
    """Return a dataset's measures in measures_per_dataset.yaml."""
    path = Path(__file__).with_name("measures_per_dataset.yaml")
    return yaml_file.read_shared(path, dict[str, tuple[str, ...]]).get(dataset, ())
