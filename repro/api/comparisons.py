"""Published and measured numbers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from repro.api.listing import Listing
from repro.api.selection import Selection, check_several, select
from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.progress import Progress
from repro.running.plan import Plan
from repro.running.recurrence import Recurrence
from repro.running.runner import Outcome
from repro.running.workspace import Workspace
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.comparison import compare as compared
from repro.verdicts.comparison import judged_cells
from repro.verdicts.paired_runs import run_paired_tests
from repro.verdicts.plain_values import cell_as_row
from repro.verdicts.row_tests import run_tests
from repro.verdicts.summary import Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repro.plugins.yours.table import OwnTable


class ComparedCells(Listing[ComparedCell]):
    """Cells with their published and measured numbers, verdicts, and tests between the rows of a table.

    Attributes:
        comparison: the cells and tests; ``comparison.betters(cell)`` are the rows that a cell's row beats.
        plan: of the cells, looked up in the store; None where runs were scored without a paper.
        outcome: of the run just made, if one was: what was run, failed or was blocked.
        recurrences: what this run measured and was on record before, both.
        yours: the tables with rows of one's own, those with their tests, notes and scores by query.
    """

    def __init__(
        self,
        comparison: Comparison,
        plan: Plan | None = None,
        outcome: Outcome | None = None,
        recurrences: Sequence[Recurrence] = (),
        yours: Sequence[OwnTable] = (),
    ):
        super().__init__(comparison.cells, line=cell_as_row, index="cell")
        self.comparison, self.plan, self.outcome, self.recurrences = comparison, plan, outcome, recurrences
        self.yours = tuple(yours)

    @property
    def summary(self) -> Summary:
        """Counts of the papers' cells and of verdicts; what others ran is counted by itself."""
        own = self.comparison.own_rows
        return summarise([c for c in self.comparison.cells if c.cell.row.id not in own])

    def to_latex(self, *, two_column: bool = False) -> str:
        """The cells as LaTeX tables, which need booktabs; see ``repro tables``."""
        from repro.writers.latex import latex

        return "\n".join(
            latex(
                self.comparison,
                [replace(c, others=None) for c in cells],
                command="repro.compare(...).to_latex()",
                two_column=two_column,
            )
            for cells in self.comparison.by_table().values()
        )

    def tests(self) -> Listing[dict[str, Any]]:
        """The tests of one's own rows, a line for each column and row that one was tested against."""
        from repro.plugins.yours.table import lines

        return Listing([line for table in self.yours for line in lines(table)], line=dict, index="row")

    def scores_by_query(self) -> Listing[dict[str, Any]]:
        """The scores of one's own rows, and of the runs that they were tested against, query by query."""
        scores = [line for table in self.yours for line in table.scores_by_query()]
        return Listing(scores, line=dict, index="query")

    def plot(self) -> list[Axes]:
        """Published and measured numbers of the systems of one table, a panel for each column.

        Raises UsageError where the cells are of several tables, or none was measured.
        """
        from repro.writers.figures.comparison_panels import panels

        return panels(self.comparison.cells)


def compare(
    *names: str,
    rows: Sequence[str] = (),
    scale: str = "full",
    seeds: Sequence[int] = (),
    readings: Mapping[str, str] = MappingProxyType({}),
    yours: Yours | Sequence[Yours] = (),
    dataset: str | None = None,
    qrels: str | Path | None = None,
    measures: Sequence[str] = (),
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> ComparedCells:
    """Judge cells by what was measured so far, beside runs and encoders of one's own.

    Nothing of the papers is trained, searched or downloaded. Tests between rows are computed where their runs
    are stored and the store can be written.

    Args:
        names: as ``select`` takes them, and so are the rest; all papers without a name.
        yours: what is to stand as rows of one's own below each table: run files; encoders, as a folder, a
            name of the hub, or a mapping or YAML file with ``model`` and how it reads texts. Without names
            run files are scored by ``dataset`` or ``qrels`` alone.
        dataset: of the catalogue; with names the only one that runs are scored on.
        qrels: a file of judgements; then ``dataset`` says its rule about documents named like the query.
        measures: whatever ir_measures can give; none means those that the suite scores the dataset by.
        progress: hears of what is computed; nothing does without one.

    Raises:
        UsageError: a name, scale, file or measure that there is not, or nothing that could be measured.
        DataError: a record or run file is malformed; says file and line.
        BlockedError: what scores or encodes yours is not at hand; says how to get it.
        StageError: encoding or search with an encoder failed.
    """
    given = _given(yours)
    check_several(measures=measures)
    if not given and any((dataset, qrels, measures)):
        raise UsageError("dataset, qrels and measures are for runs of one's own; give them as yours")
    if given and not names:
        return _compare_alone(given, dataset, qrels, measures, workspace or Workspace.open())
    if qrels or measures:
        raise UsageError("a paper's table has judgements and measures; name no table to score by your own")
    selection = select(*names, rows=rows, scale=scale, seeds=seeds, readings=readings, workspace=workspace)
    return compare_selection(selection, yours=given, dataset=dataset, progress=progress)


Yours = str | Path | Mapping[str, Any]


def _given(yours: Yours | Sequence[Yours]) -> list[Yours]:
    """Return what is given as one's own. Raises UsageError for what names neither a file nor a model."""
    is_one = isinstance(yours, str | bytes | Path | Mapping) or not isinstance(yours, Iterable)
    given = [yours] if is_one else list(yours)
    for each in given:
        if not isinstance(each, str | Path | Mapping) or each == "":
            raise UsageError(f"a run or an encoder of yours is a path, a name or a mapping, not {each!r}")
    return given


def _compare_alone(
    given: Sequence[Yours],
    dataset: str | None,
    qrels: str | Path | None,
    measures: Sequence[str],
    workspace: Workspace,
) -> ComparedCells:
    """Score run files without a paper's table."""
    from repro.plugins.yours.alone import judged_by, scored_alone
    from repro.plugins.yours.sources import own_runs

    if not (dataset or qrels):
        raise UsageError("name the table that it is to be a row of, as PAPER/1, or a dataset that scores it")
    runs = own_runs(given)
    judged = judged_by(dataset, Path(qrels) if qrels else None, workspace.data)
    table = scored_alone(runs, judged, measures)
    return ComparedCells(table.comparison, yours=[table])


def compare_selection(
    selection: Selection,
    *,
    plan: Plan | None = None,
    outcome: Outcome | None = None,
    recurrences: Sequence[Recurrence] = (),
    new_tests: bool = True,
    yours: Sequence[Yours] = (),
    dataset: str | None = None,
    progress: Progress | None = None,
) -> ComparedCells:
    """Judge the cells of a selection, with rows of one's own below them.

    Args:
        plan: the selection's, where it was made already.
        outcome: of the run just made, so that failures are told.
        recurrences: what that run measured and was on record before.
        new_tests: compute the tests between rows that are not stored yet, where the store can be written.
        yours, dataset: as of ``compare``.
        progress: hears of tests that are computed; nothing does without one.
    """
    store, results = selection.workspace.store, selection.workspace.results
    if yours:
        return _compare_with_yours(selection, yours, dataset, progress or Progress())
    plan = plan or selection.plan()
    if not new_tests:
        return ComparedCells(judged_cells(plan, results, store), plan)
    plan.look(store)
    comparison = compared(plan, results, store=store, outcome=outcome)
    for compute in (run_tests, run_paired_tests):
        compute(comparison, plan, store, progress or Progress())
    return ComparedCells(comparison, plan, outcome, recurrences)


def _compare_with_yours(
    selection: Selection, given: Sequence[Yours], dataset: str | None, progress: Progress
) -> ComparedCells:
    selection.scale_itself.pin_kernels(progress)  # before what scores loads its libraries
    from repro.plugins.yours.places import name_of
    from repro.plugins.yours.sources import sources
    from repro.plugins.yours.table import own_table

    workspace = selection.workspace
    found = sources(given, workspace.data)
    plan = selection.plan()
    compared_cells = judged_cells(plan, workspace.results, workspace.store).by_table().values()
    tables, reasons = [], {}
    for cells in compared_cells:
        try:
            tables.append(own_table(cells, found, plan, workspace, dataset=dataset, progress=progress))
        except (UsageError, DataError, BlockedError) as error:
            reasons[name_of(cells[0].cell)] = error
    if not tables:
        raise next(iter(reasons.values()))
    tables[-1] = replace(tables[-1], left_out=(*tables[-1].left_out, *_tables_left_out(reasons)))
    whole = Comparison([c for table in tables for c in table.comparison.cells])
    for table in tables:
        whole.tests.update(table.comparison.tests)
    whole.own_rows = tuple(dict.fromkeys(row for table in tables for row in table.comparison.own_rows))
    return ComparedCells(whole, plan, yours=tables)


def _tables_left_out(reasons: Mapping[str, ReproError]) -> list[str]:
    """Sentences on tables without a row of one's own; what is true of many is said once."""
    from repro.retrieval.evaluation.given_runs import OtherQueriesError

    common = {
        OtherQueriesError: "none of their queries is answered",
        UsageError: "no column of theirs can be scored",
    }
    said = []
    for kind, why in common.items():
        if names := [name for name, error in reasons.items() if isinstance(error, kind)]:
            said.append(f"left out, as {why}: {', '.join(names)}")
    return said + [f"{n} is left out: {e}" for n, e in reasons.items() if not isinstance(e, tuple(common))]
