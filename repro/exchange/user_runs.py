"""A run file of a user, beside a published cell and beside our own run of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError
from repro.evaluation import agreement
from repro.evaluation.measures import Scores
from repro.evaluation.run_depth import check_depth
from repro.evaluation.runs import read_run
from repro.evaluation.significance import compare_scores
from repro.exchange.user_run_scores import judged_by_documents, judgements, scores_of, unlike_published
from repro.graph import Node
from repro.judging.among_others import ValueAmongOthers, among_others_of_share
from repro.judging.tolerance import UNITS
from repro.manifest.cells import Cell
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.store import Store, check_where_stored


@dataclass(frozen=True)
class UserRun:
    """A run file of the user, scored exactly as one published cell is.

    Attributes:
        value: its mean in the paper's unit.
        scores: by query.
        pair: the tests of it against our own run of the cell, and how alike the two are; None without one.
        scale: of the cell's collections; only full is compared with the paper.
        among_others: the value among what others state of the cell; None below full scale, where a reading
            has another measure than the cell, and without reports.
        differing: sentences on judgements that are not those published; then nothing is compared with the
            paper.
    """

    path: Path
    cell: Cell
    value: float
    scores: Scores
    pair: dict | None
    scale: str
    among_others: ValueAmongOthers | None
    differing: list[str]

    @property
    def is_comparable(self) -> bool:
        """Whether the paper's number is of the same collection."""
        return self.scale == "full" and not self.differing

    def as_json(self) -> dict:
        """The object that ``repro compare RUN --format json`` prints."""
        published_value = self.cell.printed.value
        is_comparable = published_value is not None and self.is_comparable
        return {
            "run": str(self.path),
            "id": self.cell.id,
            "printed": self.cell.text,
            "value": self.value,
            "unit": self.cell.unit,
            "difference": self.value - float(published_value) if is_comparable else None,
            "scale": self.scale,
            "queries": len(self.scores.queries),
            "missing": len(self.scores.missing),
            "foreign": self.scores.ignored,
            "measured": self.pair,
            "among_others": self.among_others.as_json() if self.among_others else None,
            "differing": self.differing,
        }


def user_runs(paths: Sequence[Path], plan: Plan, store: Store) -> list[UserRun]:
    """Score every run for every selected cell; nothing is measured and nothing written.

    Raises:
        UsageError: a cell that no single run measures, that is scored by other means than judgements, or that
            looks deeper than a run of the user goes.
        DataError: a malformed run, or one of other queries or documents.
        StoreError: our own run, or a run of a store, is damaged.
        BlockedError: a cell's judgements are not at hand.
    """
    for path in paths:
        check_where_stored(path)
    measurements = {m.cell.id: m for m in reversed(plan.measurements)}
    runs = []
    for cell in plan.cells:
        measurement = measurements.get(cell.id)
        evaluation = _evaluation(cell, measurement)
        measure = measurement.measure if measurement else cell.column.measure
        runs += [_user_run(path, cell, measure, evaluation, plan, store) for path in paths]
    return runs


def _evaluation(cell: Cell, measurement: Measurement | None) -> Node | None:
    """The node that scores the cell's one run; None where no recipe makes the cell."""
    parts = measurement.parts if measurement else ()
    has_one_run = not measurement or (len(parts) == 1 and "run" in parts[0].inputs)
    measure = measurement.measure if measurement else cell.column.measure
    if not (has_one_run and measure and cell.column.dataset and cell.unit in UNITS):
        raise UsageError(f"{cell.id} is not measured by one run; `repro show {cell.id}` says how")
    return parts[0] if parts else None


def _user_run(path: Path, cell: Cell, measure: str, node: Node | None, plan: Plan, store: Store) -> UserRun:
    dataset = node.inputs["qrels"].params["dataset"] if node else cell.column.dataset
    entry = judged_by_documents(dataset)
    rule = node.params["ignore_identical_ids"] if node else entry.ignore_identical_ids
    qrels, unit = judgements(dataset, plan.machine.data), float(UNITS[cell.unit])
    scores, depth = scores_of(path, qrels, [measure], ignore_identical_ids=rule)
    check_depth(path, depth, measure, cell=cell.id)
    pair = None
    if node is not None and store.state(node.inputs["run"]) == "stored":
        our_run = store.checked(node.inputs["run"]) / "run.trec"
        our_scores, _ = scores_of(our_run, qrels, [measure], ignore_identical_ids=rule)
        pair = {"value": our_scores.means[measure] * unit, **_tests(scores, our_scores, measure)}
        pair |= _agreement(path, our_run)
    mean, reports, sentences = scores.means[measure], None, unlike_published(qrels, dataset)
    if plan.scale.compares_with_paper and measure == cell.column.measure and not sentences:
        reports = among_others_of_share(cell, mean)
    return UserRun(path, cell, mean * unit, scores, pair, plan.scale.name, reports, sentences)


def _tests(scores: Scores, our_scores: Scores, measure: str) -> dict:
    """The tests of the user's scores less ours, query by query."""
    pair = [scores.measures, our_scores.measures]
    table = compare_scores(pair, ["given", "measured"], scores.queries, [measure])["measures"][measure]
    keys = ("difference", "interval", "effect_size", "permutation_p", "wins", "ties", "losses")
    first, second = scores.measures[measure], our_scores.measures[measure]
    means = {
        "p": agreement.paired_t_p(first, second),
        "rmse": agreement.root_mean_square_error(first, second),
    }
    return {key: table[key][0][1] for key in keys} | means


def _agreement(path: Path, our_run: Path) -> dict:
    """The measures of how alike the rankings of two runs are."""
    first, second = read_run(path), read_run(our_run)
    depth = min(agreement.DEPTH, max(len(ranking) for run in (first, second) for ranking in run.values()))
    overlap = agreement.rank_biased_overlap(first, second, depth=depth)
    return {"kendall_union": agreement.kendall_union(first, second), "rank_biased_overlap": overlap}
