"""Published and measured numbers side by side, with runs and encoders of one's own as rows of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from repro.api import Listing
from repro.api.comparisons import ComparedCells, compare_selection
from repro.api.selection import Selection, check_several, select
from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.plugins.yours.runs import Yours, own_runs, sources
from repro.progress import Progress
from repro.running.plan import Plan
from repro.running.workspace import Workspace
from repro.verdicts.compared import Comparison
from repro.verdicts.comparison import judged_cells

if TYPE_CHECKING:
    from repro.plugins.yours.table import OwnTable


class ComparedWithYours(ComparedCells):
    """Cells as ``repro.api.comparisons.ComparedCells`` has them, with rows of one's own.

    Attributes:
        yours: the tables with these rows, with their tests, notes and scores by query.
    """

    def __init__(self, comparison: Comparison, plan: Plan | None = None, yours: Sequence[OwnTable] = ()):
        super().__init__(comparison, plan)
        self.yours = tuple(yours)

    @classmethod
    def of(cls, cells: ComparedCells) -> ComparedWithYours:
        """Return compared cells without a row of one's own."""
        return cls(cells.comparison, cells.plan)

    def tests(self) -> Listing[dict[str, Any]]:
        """Return the tests of one's own rows, a line for each column and row that one was tested against."""
        from repro.plugins.yours.table import lines

        return Listing([line for table in self.yours for line in lines(table)], line=dict, index="row")

    def scores_by_query(self) -> Listing[dict[str, Any]]:
        """Return the scores by query of one's own rows and of the runs they were tested against."""
        scores = [line for table in self.yours for line in table.scores_by_query()]
        return Listing(scores, line=dict, index="query")


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
) -> ComparedWithYours:
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
        return compare_alone(given, dataset, qrels, measures, workspace or Workspace.open())
    if qrels or measures:
        raise UsageError("a paper's table has judgements and measures; name no table to score by your own")
    selection = select(*names, rows=rows, scale=scale, seeds=seeds, readings=readings, workspace=workspace)
    if not given:
        return ComparedWithYours.of(compare_selection(selection, progress=progress))
    return compare_with_yours(selection, given, dataset, progress or Progress())


def _given(yours: Yours | Sequence[Yours]) -> list[Yours]:
    """Return what is given as one's own. Raises UsageError for what names neither a file nor a model."""
    given: list[Yours] = []
    if isinstance(yours, str | bytes | Path | Mapping) or not isinstance(yours, Iterable):
        given.append(yours)
    else:
        given += yours
    for each in given:
        if not isinstance(each, str | Path | Mapping) or each == "":
            raise UsageError(f"a run or an encoder of yours is a path, a name or a mapping, not {each!r}")
    return given


def compare_alone(
    given: Sequence[Yours],
    dataset: str | None,
    qrels: str | Path | None,
    measures: Sequence[str],
    workspace: Workspace,
) -> ComparedWithYours:
    """Score run files without a paper's table."""
    from repro.plugins.yours.runs import judged_by
    from repro.plugins.yours.table import scored_alone

    if not (dataset or qrels):
        raise UsageError("name the table that it is to be a row of, as PAPER/1, or a dataset that scores it")
    runs = own_runs(given)
    judged = judged_by(dataset, Path(qrels) if qrels else None, workspace.data)
    table = scored_alone(runs, judged, measures)
    return ComparedWithYours(table.comparison, yours=[table])


def compare_with_yours(
    selection: Selection, given: Sequence[Yours], dataset: str | None, progress: Progress
) -> ComparedWithYours:
    """Judge the cells of a selection, with rows of one's own below each of its tables."""
    selection.scale_itself.pin_kernels(progress)  # before what scores loads its libraries
    from repro.plugins.yours.places import name_of
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
    return ComparedWithYours(whole, plan, yours=tables)


def _tables_left_out(reasons: Mapping[str, ReproError]) -> list[str]:
    """Return sentences on tables without a row of one's own; what is true of many is said once."""
    from repro.retrieval.evaluation.judged_runs import OtherQueriesError

    common = {
        OtherQueriesError: "none of their queries is answered",
        UsageError: "no column of theirs can be scored",
    }
    said = []
    for kind, why in common.items():
        if names := [name for name, error in reasons.items() if isinstance(error, kind)]:
            said.append(f"left out, as {why}: {', '.join(names)}")
    return said + [f"{n} is left out: {e}" for n, e in reasons.items() if not isinstance(e, tuple(common))]
