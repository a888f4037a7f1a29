"""Paired tests of our runs against those that others made of the very same system, where both are stored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from repro.errors import ReproError
from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.evaluation.p_values import holm
from repro.running.measurement import Measurement, import_of
from repro.running.plan import Plan
from repro.store import Store, read_json
from repro.verdicts.compared import ComparedCell, Comparison, PairedTest
from repro.verdicts.imported import ImportedRun
from repro.verdicts.row_tests import compute_test, is_stored

NAMES = ("measured", "imported")
Pair = tuple[ComparedCell, ImportedRun, Node]


def stored_paired_tests(
    comparison: Comparison, plan: Plan, store: Store
) -> dict[str, tuple[PairedTest, ...]]:
    """Cell -> the tests that the store holds, of scores as they are."""
    pairs = ((c, run, node) for c, run, node in _pairs(comparison, plan, store) if is_stored(node, store))
    return _corrected_tests(
        [(c, run, read_json(store.path(node) / "significance.json")) for c, run, node in pairs]
    )


def run_paired_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress) -> None:
    """Add the tests to ``comparison``, computing those not stored yet; what fails is noted."""
    contents = []
    for c, run, node in _pairs(comparison, plan, store):
        try:
            about = f"{c.cell.id}: comparing our run with {run.file}"
            contents.append((c, run, compute_test(node, plan, store, progress, about=about)))
        except ReproError as error:
            comparison.untested.append(str(error))
    comparison.paired.update(_corrected_tests(contents))


def _pairs(comparison: Comparison, plan: Plan, store: Store) -> Iterator[Pair]:
    """Our stored run of each cell (the paper's own seed, else the first) with each stored run by others.

    A run that follows other readings than ours is of another system.
    """
    measurements: dict[str, Measurement] = {m.cell.id: m for m in reversed(plan.measurements)}
    for c in comparison.cells:
        measurement = measurements.get(c.cell.id)
        if measurement and c.records and not c.outdated and _is_by_one_run(measurement, store):
            for run in c.imported:
                their_run = import_of(
                    c.cell, measurement, plan.machine, {"sha256": run.record.origin["sha256"]}
                ).runs[0]
                if run.record.readings == c.records[0].readings and store.state(their_run) == "stored":
                    yield c, run, _test_node(measurement, their_run)


def _is_by_one_run(measurement: Measurement, store: Store) -> bool:
    """Whether one stored run, judged by documents, gives the cell."""
    if len(measurement.parts) > 1 or measurement.parts[0].params.get("judgements") != "qrels":
        return False
    return store.state(measurement.runs[0]) == "stored"


def _test_node(measurement: Measurement, their_run: Node) -> Node:
    part = measurement.parts[0]
    rule = {"ignore_identical_ids": part.params["ignore_identical_ids"]}
    inputs = {"runs": (measurement.runs[0], their_run), "qrels": part.inputs["qrels"]}
    return Node("compare", {"measures": [measurement.measure], "names": list(NAMES), **rule}, inputs)


def _corrected_tests(
    contents: list[tuple[ComparedCell, ImportedRun, Mapping]],
) -> dict[str, tuple[PairedTest, ...]]:
    """The tests of each cell, Holm's correction over those of one table and measure."""
    families: dict[tuple, list[tuple[str, PairedTest]]] = {}
    for c, run, content in contents:
        [(measure, table)] = content["measures"].items()
        family = (c.cell.paper.name, c.cell.table.id, c.cell.column.dataset, measure)
        families.setdefault(family, []).append((c.cell.id, _paired_test(run, table)))
    tests: dict[str, tuple[PairedTest, ...]] = {}
    for family in families.values():
        for (cell, test), p in zip(family, holm([test.p for _, test in family]), strict=True):
            tests[cell] = (*tests.get(cell, ()), replace(test, holm_p=p))
    return tests


def _paired_test(run: ImportedRun, table: Mapping) -> PairedTest:
    """The test of our run, which is the first, less theirs, before correction."""
    ours = {key: table[key][0][1] for key in ("difference", "effect_size", "p", "permutation_p")}
    outcomes = {key: table[key][0][1] for key in ("wins", "ties", "losses")}
    interval = table["interval"][0][1]
    return PairedTest(
        run.file, run.maker, **ours, **outcomes, holm_p=None, interval=interval and tuple(interval)
    )
