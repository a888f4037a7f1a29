"""Significance tests between rows, and between our runs and runs by others, e.g. paired t-tests."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from repro.errors import ReproError
from repro.graph import Node, grouped
from repro.progress import Progress, span
from repro.retrieval.datasets.catalog import dataset
from repro.running.measurement import Measurement, import_of
from repro.running.plan import Plan
from repro.store import Store, seal
from repro.verdicts.compared import ComparedCell, Comparison, ImportedRun, PairedTest, test_key

_BySeed = dict[int | None, tuple[Node, ...]]  # seed -> evaluations
_Key = tuple[str, str, str]  # paper, table, dataset


def tests(plan: Plan, store: Store) -> dict[_Key, Node]:
    """Return (paper, table, dataset) -> the stage that tests all rows with stored runs against each other.

    Averages of collections and judgements by answers are compared by stored scores. Each row is tested with
    the seed that is stored for most rows, or with its own first seed.
    """
    scored = filter(partial(_is_scored, plan), plan.measurements)
    testable = [m for m in scored if _is_by_scores(m.groups[0]) or store.state(m.runs[0]) == "stored"]
    measures = grouped((test_key(m.cell), m.measure) for m in testable)
    comparable = {key: rows for key, rows in _rows(testable).items() if len(rows) > 1}
    nodes = {key: _test_node(rows, sorted({*measures[key]})) for key, rows in comparable.items()}
    return {key: node for key, node in nodes.items() if node.params["measures"]}


def rows_with_scores(plan: Plan) -> dict[_Key, dict[str, tuple[Node, ...]]]:
    """Return (paper, table, dataset) -> row -> stored evaluations, at the most common seed if possible."""
    return _rows(filter(partial(_is_scored, plan), plan.measurements))


def _rows(measurements: Iterable[Measurement]) -> dict[_Key, dict[str, tuple[Node, ...]]]:
    rows: dict[_Key, dict[str, _BySeed]] = {}
    for m in measurements:
        rows.setdefault(test_key(m.cell), {}).setdefault(m.cell.row.id, {}).setdefault(m.seed, m.groups[0])
    return {key: _evaluations_at_shared_seed(by_row) for key, by_row in rows.items()}


def _evaluations_at_shared_seed(rows: Mapping[str, _BySeed]) -> dict[str, tuple[Node, ...]]:
    seeds = [seed for by_seed in rows.values() for seed in by_seed]
    shared_seed = max(seeds, key=seeds.count)
    return {row: by_seed.get(shared_seed, next(iter(by_seed.values()))) for row, by_seed in rows.items()}


def _is_scored(plan: Plan, m: Measurement) -> bool:
    name = m.cell.column.dataset
    members = max(1, len(dataset(name).members)) if name else 1
    is_testable = len(m.groups) == 1 and len(m.groups[0]) == members and "judgements" in m.groups[0][0].params
    return is_testable and all(plan.states[p.fingerprint] == "stored" for p in m.groups[0])


def _is_by_scores(parts: tuple[Node, ...]) -> bool:
    return len(parts) > 1 or parts[0].params["judgements"] != "qrels"


def _test_node(rows: Mapping[str, tuple[Node, ...]], measures: list[str]) -> Node:
    nodes = [part for parts in rows.values() for part in parts]
    if any(map(_is_by_scores, rows.values())):
        shared_measures = [m for m in measures if all(m in part.params["measures"] for part in nodes)]
        return Node("compare", {"measures": shared_measures, "names": list(rows)}, {"scores": tuple(nodes)})
    runs = tuple(run for part in nodes if isinstance(run := part.inputs["run"], Node))
    return _test_of_runs(nodes[0], runs, measures, list(rows))


def _test_of_runs(part: Node, runs: tuple[Node, ...], measures: list[str], names: list[str]) -> Node:
    rule = {"ignore_identical_ids": part.params["ignore_identical_ids"]}
    inputs = {"runs": runs, "qrels": part.inputs["qrels"]}
    return Node("compare", {"measures": measures, "names": names, **rule}, inputs)


def stored_tests(plan: Plan, store: Store) -> dict[_Key, dict]:
    nodes = {key: node for key, node in tests(plan, store).items() if is_stored(node, store)}
    return {key: seal.read_json(store.path(node) / "significance.json") for key, node in nodes.items()}


def is_stored(node: Node, store: Store) -> bool:
    """Return whether a test of the current inputs is stored."""
    if store.state(node) != "stored":
        return False
    stored_contents = store.record(node)["facts"].get("inputs", {})
    return store.contents(node.parents()).items() <= stored_contents.items()


NAMES = ["measured", "imported"]
Pair = tuple[ComparedCell, ImportedRun, Node]


def stored_paired_tests(
    comparison: Comparison, plan: Plan, store: Store
) -> dict[str, tuple[PairedTest, ...]]:
    """Return cell -> stored tests of our run against runs by others."""
    contents = [
        (c, run, seal.read_json(store.path(node) / "significance.json"))
        for c, run, node in pairs_with_others(comparison, plan, store)
        if is_stored(node, store)
    ]
    return corrected_tests(contents)


def pairs_with_others(comparison: Comparison, plan: Plan, store: Store) -> Iterator[Pair]:
    """Yield (cell, run by others, test) for cells with stored runs, ours and theirs, of the same readings."""
    measurements: dict[str, Measurement] = {m.cell.id: m for m in reversed(plan.measurements)}
    for c in comparison.cells:
        measurement = measurements.get(c.cell.id)
        if measurement and c.records and not c.outdated and _is_by_one_run(measurement, store):
            for run in c.imported:
                origin = {"sha256": run.record.origin["sha256"]}
                their_run = import_of(c.cell, measurement, plan.machine, origin).runs[0]
                if run.record.readings == c.records[0].readings and store.state(their_run) == "stored":
                    runs = (measurement.runs[0], their_run)
                    yield c, run, _test_of_runs(measurement.parts[0], runs, [measurement.measure], NAMES)


def _is_by_one_run(measurement: Measurement, store: Store) -> bool:
    if len(measurement.parts) > 1 or measurement.parts[0].params.get("judgements") != "qrels":
        return False
    return store.state(measurement.runs[0]) == "stored"


def corrected_tests(
    contents: Sequence[tuple[ComparedCell, ImportedRun, Mapping]],
) -> dict[str, tuple[PairedTest, ...]]:
    """Return cell -> its tests in ``contents``, Holm-corrected per table, dataset and measure."""
    if not contents:
        return {}
    from repro.retrieval.evaluation.p_values import holm

    families = grouped(
        ((*test_key(c.cell), measure), (c.cell.id, _paired_test(run, table)))
        for c, run, content in contents
        for measure, table in content["measures"].items()
    )
    tests = grouped(
        (cell, replace(test, holm_p=p))
        for family in families.values()
        for (cell, test), p in zip(family, holm([test.p for _, test in family]), strict=True)
    )
    return {cell: tuple(of_cell) for cell, of_cell in tests.items()}


def _paired_test(run: ImportedRun, table: Mapping) -> PairedTest:
    ours = {key: table[key][0][1] for key in ("difference", "effect_size", "permutation_p")}
    ours["p"] = None if ours["effect_size"] is None else table["p"][0][1]
    outcomes = {key: table[key][0][1] for key in ("wins", "ties", "losses")}
    interval = tuple(table["interval"][0][1]) if ours["p"] is not None else None
    return PairedTest(run.file, run.maker, **ours, **outcomes, holm_p=None, interval=interval)


def add_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress | None = None) -> None:
    """Run the missing tests, and add all to the comparison. Messages on failed ones go to ``untested``."""
    for compute in (run_tests, run_paired_tests):
        compute(comparison, plan, store, progress or Progress())


def run_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress) -> None:
    for key, node in tests(plan, store).items():
        try:
            comparison.tests[key] = compute_test(node, plan, store, progress, about=_test_in_words(node, key))
        except ReproError as error:
            comparison.untested.append(str(error))


def compute_test(node: Node, plan: Plan, store: Store, progress: Progress, *, about: str) -> dict:
    """Return a test's content, computed if it is missing or outdated. Raises BlockedError, StageError."""
    if not is_stored(node, store):
        from repro.running.engines.inline import ensure

        if store.state(node) == "stored":
            store.discard(node)
        start = time.monotonic()
        with progress.showing():
            progress.begins(about)
            outcome = ensure([node], store, progress, machine=plan.machine, quiet=True)
            progress.ends(about, span(time.monotonic() - start) if outcome.run else "failed")
        outcome.raise_first()
    return seal.read_json(store.path(node) / "significance.json")


def _test_in_words(node: Node, key: _Key) -> str:
    from repro.running.run_progress import collections

    data = ", ".join(collections(node))
    return f"{key[0]}/{key[1]}: comparing {len(node.params['names'])} rows on {data}"


def run_paired_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress) -> None:
    contents = []
    for c, run, node in pairs_with_others(comparison, plan, store):
        try:
            about = f"{c.cell.id}: comparing our run with {run.file}"
            contents.append((c, run, compute_test(node, plan, store, progress, about=about)))
        except ReproError as error:
            comparison.untested.append(str(error))
    comparison.paired.update(corrected_tests(contents))
