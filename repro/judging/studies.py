"""A study's table: several seeds of every row, compared with one row of reference, and what each cost."""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from repro.evaluation.holm import holm
from repro.graph import Node, walk
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.store import Store, read_json

LEVEL = 0.05


@dataclass(frozen=True)
class Against:
    """One row against the reference, over queries, each the mean of its seeds.

    Attributes:
        difference: of means, in the measure's own unit (a fraction).
        interval: 95 % of it by resampling queries (``scipy.stats.bootstrap``, BCa, seed 0).
        p: two-sided paired t-test; ``holm`` the same, corrected for the rows compared in this column.
    """

    difference: float
    interval: tuple[float, float]
    p: float
    holm: float


@dataclass(frozen=True)
class Entry:
    """The measurements of a row and column.

    Attributes:
        seeds: seed -> mean over the queries.
        against: the reference row; None for itself, and where the two differ in no query.
    """

    seeds: Mapping[int | None, float]
    against: Against | None = None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seeds.values())

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval of the mean over seeds, t · s / √k.

        None below two seeds, and for what seeds do not change.
        """
        from scipy.stats import t

        values = list(self.seeds.values())
        if len(values) < 2 or len(set(values)) == 1:
            return None
        return float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / sqrt(len(values))


@dataclass(frozen=True)
class Cost:
    """The floating-point operations and seconds of a row's own pre-training, as means over seeds.

    The seconds of a training that was interrupted are those of its last attempt, in proportion to the steps.
    """

    flops: float | None
    seconds: float | None


def entries(plan: Plan, store: Store, *, reference: str) -> dict[tuple[str, str], Entry]:
    """(row, column) -> what is stored of it; what is not stored is left out.

    Args:
        plan: with its node states looked up.
        reference: id of the row that the others are tested against.
    """
    scores: dict[tuple[str, str], dict[int | None, dict[str, float]]] = {}
    for m in plan.measurements:
        if len(m.parts) == 1 and plan.states[m.parts[0].fingerprint] == "stored":
            content = read_json(store.path(m.parts[0]) / "scores.json")
            by_query = dict(zip(content["queries"], content["measures"][m.measure], strict=True))
            scores.setdefault((m.cell.row.id, m.cell.column.id), {})[m.seed] = by_query
    tested = _tested(scores, reference)
    return {
        place: Entry({seed: statistics.fmean(q.values()) for seed, q in seeds.items()}, tested.get(place))
        for place, seeds in scores.items()
    }


def costs(plan: Plan, store: Store) -> dict[str, Cost]:
    """Row -> the cost of its own pre-training: the last one before fine-tuning, which no other row shares."""
    facts: dict[str, dict[str, dict]] = {}
    for row, node in _own_pretrainings(plan.measurements):
        if store.state(node) == "stored":
            facts.setdefault(row, {})[node.fingerprint] = store.record(node)["facts"]
    return {row: _cost(list(of_row.values())) for row, of_row in facts.items()}


def _own_pretrainings(every: Iterable[Measurement]) -> Iterator[tuple[str, Node]]:
    """Each row with a pre-training that no other row shares."""
    rows: dict[str, dict[str, Node]] = {}
    for m in every:
        trained = (node for node in walk(m.parts) if node.stage == "pretrain")
        rows.setdefault(m.cell.row.id, {}).update((node.fingerprint, node) for node in trained)
    shared = Counter(fingerprint for nodes in rows.values() for fingerprint in nodes)
    for row, nodes in rows.items():
        yield from ((row, node) for fingerprint, node in nodes.items() if shared[fingerprint] == 1)


def _cost(facts: Sequence[Mapping]) -> Cost:
    counted = [f["flops"] for f in facts if "flops" in f]
    seconds = [s for s in map(_seconds, facts) if s is not None]
    return Cost(
        statistics.fmean(counted) if len(counted) == len(facts) else None,
        statistics.fmean(seconds) if len(seconds) == len(facts) else None,
    )


def training_hours(plan: Plan, store: Store) -> dict[str, float]:
    """Map each cell to the hours of the trainings behind it, as the mean over its seeds.

    A training that several cells share counts in each of them. Left out are cells that are not trained, and
    those with a training that is missing from the store or whose time is not known.

    Args:
        plan: with its node states looked up.
    """
    spent: dict[str, list[float]] = {}
    for m in plan.measurements:
        trainings = [node for node in walk(m.parts) if node.stage in ("pretrain", "finetune")]
        seconds = [_seconds_stored(node, plan, store) for node in trainings]
        if seconds and None not in seconds:
            spent.setdefault(m.cell.id, []).append(sum(seconds) / 3600)
    return {cell: statistics.fmean(of_seeds) for cell, of_seeds in spent.items()}


def _seconds_stored(training: Node, plan: Plan, store: Store) -> float | None:
    is_stored = plan.states[training.fingerprint] == "stored"
    return _seconds(store.record(training)["facts"]) if is_stored else None


def _seconds(facts: Mapping) -> float | None:
    made = facts["steps"] - facts.get("resumed_at", 0)  # in the attempt that ended
    return facts["seconds"] * facts["steps"] / made if made else None


def _tested(scores: Mapping, reference: str) -> dict[tuple[str, str], Against]:
    """Every row against the reference, column by column; rows of the same seeds only."""
    columns: dict[str, dict[str, Mapping]] = {}
    for (row, column), seeds in scores.items():
        columns.setdefault(column, {})[row] = seeds
    return {
        (row, column): test
        for column, rows in columns.items()
        for row, test in _column_tests(rows, reference).items()
    }


def _column_tests(rows: Mapping[str, Mapping], reference: str) -> dict[str, Against]:
    base = rows.get(reference)
    others = {
        r: seeds for r, seeds in rows.items() if r != reference and base and seeds.keys() == base.keys()
    }
    tests = {row: test for row, seeds in others.items() if (test := _against(seeds, base))}
    corrected = holm([p for _, _, p in tests.values()])
    return {row: Against(*test, p) for (row, test), p in zip(tests.items(), corrected, strict=True)}


def _against(ours: Mapping, base: Mapping) -> tuple[float, tuple[float, float], float] | None:
    import numpy as np
    from scipy.stats import bootstrap, ttest_rel

    queries = sorted(next(iter(base.values())))
    mine, theirs = (
        np.array([statistics.fmean(seed[q] for seed in seeds.values()) for q in queries])
        for seeds in (ours, base)
    )
    difference = mine - theirs
    if not difference.any():
        return None
    resampled = bootstrap((difference,), np.mean, n_resamples=2000, rng=np.random.default_rng(0))
    low, high = map(float, resampled.confidence_interval)
    return float(difference.mean()), (low, high), float(ttest_rel(mine, theirs).pvalue)
