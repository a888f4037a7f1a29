"""A run file of the user's beside a printed cell and beside our own run of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repro.errors import UsageError
from repro.exchange.user_run_scores import judged_by_documents, judgements, scores_of
from repro.graph import Node
from repro.judging.tolerance import UNITS
from repro.manifest.cells import Cell
from repro.running.plan import Plan
from repro.store import Store

if TYPE_CHECKING:
    from repro.evaluation.measures import Scores


@dataclass(frozen=True)
class Given:
    """A run scored as a cell is.

    Attributes:
        value: its mean in print's unit.
        scores: by query.
        pair: the tests of it against our own run of the cell, and how alike the two are; None without one.
        scale: of the cell's collections; only full stands beside print.
    """

    path: Path
    cell: Cell
    value: float
    scores: Scores
    pair: dict | None
    scale: str

    def as_json(self) -> dict:
        """The object that ``repro compare RUN --json`` prints."""
        printed = self.cell.printed.value
        beside = None if printed is None or self.scale != "full" else self.value - float(printed)
        return {
            "run": str(self.path),
            "id": self.cell.id,
            "printed": self.cell.text,
            "value": self.value,
            "unit": self.cell.unit,
            "difference": beside,
            "scale": self.scale,
            "queries": len(self.scores.queries),
            "missing": len(self.scores.missing),
            "foreign": self.scores.ignored,
            "measured": self.pair,
        }


def given_runs(paths: Sequence[Path], plan: Plan, store: Store) -> list[Given]:
    """Every run beside every selected cell; nothing is measured and nothing written.

    Raises:
        UsageError: a cell that no single run measures, or that is scored by other means than judgements.
        DataError: a malformed run, or one of other queries or documents.
        BlockedError: a cell's judgements are not at hand.
    """
    ours = {m.cell.id: m for m in reversed(plan.measurements)}
    found = []
    for cell in plan.cells:
        m = ours.get(cell.id)
        node = m.parts[0] if m and len(m.parts) == 1 and "run" in m.parts[0].inputs else None
        measure = m.measure if m else cell.column.measure
        if not (measure and cell.column.dataset and cell.unit in UNITS) or (m and not node):
            raise UsageError(f"{cell.id} is not measured by one run; `repro show {cell.id}` says how")
        found += [_given(path, cell, measure, node, plan, store) for path in paths]
    return found


def _given(path: Path, cell: Cell, measure: str, node: Node | None, plan: Plan, store: Store) -> Given:
    judged = node.inputs["qrels"].params["dataset"] if node else cell.column.dataset
    entry = judged_by_documents(judged)
    rule = node.params["ignore_identical_ids"] if node else entry.ignore_identical_ids
    qrels = judgements(judged)
    scores = scores_of(path, qrels, [measure], ignore_identical_ids=rule)
    pair = None
    if node is not None and store.state(node.inputs["run"]) == "stored":
        own = store.path(node.inputs["run"]) / "run.trec"
        theirs = scores_of(own, qrels, [measure], ignore_identical_ids=rule)
        pair = _beside(path, own, scores, theirs, measure, float(UNITS[cell.unit]))
    value = scores.means[measure] * float(UNITS[cell.unit])
    return Given(path, cell, value, scores, pair, plan.scale.name)


def _beside(path: Path, own: Path, scores: Scores, theirs: Scores, measure: str, unit: float) -> dict:
    """The given run (less ours) query by query, and how alike the two rankings are."""
    from repro.evaluation import agreement
    from repro.evaluation.runs import read_run
    from repro.evaluation.significance import compare_scores

    both = [scores.measures, theirs.measures]
    table = compare_scores(both, ["given", "measured"], scores.queries, [measure])["measures"][measure]
    keys = ("difference", "interval", "effect_size", "permutation_p", "wins", "ties", "losses")
    first, second = scores.measures[measure], theirs.measures[measure]
    given, measured = read_run(path), read_run(own)
    depth = min(agreement.DEPTH, max(len(ranking) for run in (given, measured) for ranking in run.values()))
    return {
        "value": theirs.means[measure] * unit,
        **{key: table[key][0][1] for key in keys},
        "p": agreement.paired_t(first, second),
        "rmse": agreement.root_mean_square_error(first, second),
        "kendall_union": agreement.kendall_union(given, measured),
        "rank_biased_overlap": agreement.rank_biased_overlap(given, measured, depth=depth),
    }
