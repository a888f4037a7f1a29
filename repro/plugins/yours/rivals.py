"""The runs that stand for the rows of a table in tests: the suite's own, else public ones by others."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.exchange.public_runs import public_runs
from repro.graph import Node
from repro.manifest.cells import Cell
from repro.plugins.yours.judgements import Judged
from repro.plugins.yours.runs import OwnRun, Scored
from repro.retrieval.evaluation import agreement
from repro.retrieval.evaluation.given_runs import read_given_file
from repro.retrieval.evaluation.measures import looks_deeper
from repro.running.plan import Plan
from repro.running.records import scores_of
from repro.running.workspace import Workspace
from repro.store import Store, check_where_stored
from repro.store.disk import sha256
from repro.verdicts.compared import ComparedCell
from repro.verdicts.row_tests import rows_with_scores

MEASURED = "measured"
LIKENESS = ("rmse", "kendall_union", "rank_biased_overlap")
RUNS = "runs"  # the folder of public runs below that of the user's collections


@dataclass(frozen=True)
class Rival:
    """A run of a row.

    Attributes:
        by: ``measured``, or who made it and the file.
        parts: for each collection that the column averages its ``queries`` and, by measure, their scores.
        run: the file of the run, where one gives the column.
        doubts: the kinds of doubt about the number that the suite measured.
    """

    by: str
    parts: Sequence[Mapping]
    run: Path | None = None
    doubts: tuple[str, ...] = ()

    def mean(self, measure: str) -> float:
        """The mean over the collections of the means over queries, a fraction."""
        means = [sum(part["measures"][measure]) / len(part["queries"]) for part in self.parts]
        return sum(means) / len(means)


def rivals(cells: Sequence[ComparedCell], measure: str, plan: Plan, workspace: Workspace) -> dict[str, Rival]:
    """Row -> the run of it that others are tested against, for the cells of one column.

    A row that the suite measured stands by that run; another, at full scale, by a public run of its system
    whose file lies in the folder ``runs`` of the user's data, if one is deep enough for the measure.
    """
    store, first = workspace.store, cells[0].cell
    key = (first.paper.name, first.table.id, first.column.dataset)
    stored = rows_with_scores(plan, store).get(key, {})
    found: dict[str, Rival] = {}
    for c in cells:
        rival = _own(c, stored.get(c.cell.row.id, ()), measure, store)
        if rival is None and plan.scale.compares_with_paper:
            rival = _public(c.cell, measure, workspace)
        if rival:
            found[c.cell.row.id] = rival
    return found


def likeness(
    run: Path | None, values: Sequence[float], rival: Rival, measure: str
) -> dict[str, float | None]:
    """Return how alike a run is to another of its system: in scores, and in rankings where both are files.

    RMSE over queries, Kendall's tau on the union of documents, rank-biased overlap, as repro_eval has them.
    Raises StoreError for a damaged run of a store.
    """
    theirs = [value for part in rival.parts for value in part["measures"][measure]]
    alike = dict.fromkeys(LIKENESS) | {"rmse": agreement.root_mean_square_error(values, theirs)}
    if run is None or rival.run is None:
        return alike
    check_where_stored(rival.run)
    first, second = (read_given_file(path).rankings for path in (run, rival.run))
    deepest = max(len(ranking) for rankings in (first, second) for ranking in rankings.values())
    overlap = agreement.rank_biased_overlap(first, second, depth=min(agreement.DEPTH, deepest))
    return alike | {"kendall_union": agreement.kendall_union(first, second), "rank_biased_overlap": overlap}


def _own(c: ComparedCell, evaluations: Sequence[Node], measure: str, store: Store) -> Rival | None:
    """The suite's own run of a cell; None where it is not stored, or is of an older recipe.

    Raises StoreError where its scores are damaged.
    """
    for part in evaluations:
        store.checked(part)
    parts = [scores_of(part, store) for part in evaluations]
    if not parts or c.outdated or any(measure not in part["measures"] for part in parts):
        return None
    doubts = tuple(doubt.kind for doubt in c.doubts)
    is_at_hand = len(parts) == 1 and store.state(evaluations[0].inputs["run"]) == "stored"
    run = store.path(evaluations[0].inputs["run"]) / "run.trec" if is_at_hand else None
    return Rival(MEASURED, parts, run, doubts)


def _public(cell: Cell, measure: str, workspace: Workspace) -> Rival | None:
    """The public run of the cell's system that tables show, of those deep enough; None without one."""
    folder = workspace.data / RUNS if workspace.data else None
    candidates = [
        run
        for run in public_runs()
        if (run.system, run.dataset) == (cell.row.system, cell.column.dataset)
        and not looks_deeper(measure, run.depth)
        and folder is not None
        and (folder / run.file).is_file()
    ]
    for run in reversed(candidates):  # of several the last is what tables show
        scored = _scores(folder / run.file, run.sha256, run.dataset, measure, workspace.data)
        if scored:
            return Rival(f"run by {run.toolkit}", scored.parts, scored.run)
    return None


@functools.cache
def _scores(path: Path, digest: str, dataset: str, measure: str, data: Path) -> Scored | None:
    """The scores of a public run; None where a file of that name has other bytes."""
    if sha256(path) != digest:
        return None
    return OwnRun(path).scores(Judged.of(dataset, data), [measure])[measure]
