"""``repro.compare``: ``compare("PAPER/1", yours="my.run")`` adds the row ``yours`` to Table 1."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from repro.api import Listing, Selection, check_several, comparisons, select
from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.plugins.yours.in_memory import is_encoder_object, is_frame, is_run, refused
from repro.plugins.yours.runs import Yours, judged_by, sources
from repro.progress import Progress
from repro.retrieval.evaluation.judged_runs import OtherQueriesError
from repro.running.plan import Plan
from repro.running.workspace import Workspace
from repro.verdicts.compared import Comparison
from repro.verdicts.comparison import judged_cells

if TYPE_CHECKING:
    from repro.plugins.yours.table import OwnTable


class ComparedWithYours(comparisons.ComparedCells):
    """Compared cells (see ``repro.api.comparisons.ComparedCells``), and the tables with rows of ``yours``."""

    def __init__(self, comparison: Comparison, plan: Plan | None = None, yours: "Sequence[OwnTable]" = ()):
        super().__init__(comparison, plan)
        self.yours = tuple(yours)

    @property
    def status(self) -> int:
        """The exit status of the first encoder without a score in any table, or 0."""
        scored = {row.row.label for table in self.yours for row in table.rows}
        failed = (each for table in self.yours for each in table.statuses.items())
        return next((status for label, status in failed if label not in scored), 0)

    def tests(self) -> Listing[dict[str, Any]]:
        """Return the tests of your rows, one for each column and rival row."""
        from repro.plugins.yours.table import lines

        return Listing([line for table in self.yours for line in lines(table)], line=dict, index="row")

    def scores_by_query(self) -> Listing[dict[str, Any]]:
        """Return the scores of each query, for your rows and their rivals."""
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
    qrels: Any = None,
    measures: Sequence[Any] = (),
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> ComparedWithYours:
    """Judge cells by the measurements so far, together with your own runs and encoders.

    No paper's model is trained and no data are downloaded. Tests between rows need their stored runs and a
    writable store.

    Args:
        names: as in ``select``, like the arguments not listed here. Without names all papers.
        yours: rows to add below each table. A run is a file, ``{query: {document: score}}`` or a DataFrame of
            ranx or PyTerrier. An encoder is a folder, a name on the hub, a mapping or YAML file with
            ``model`` and its settings, or a SentenceTransformer. Without names, they are judged by
            ``dataset`` or (runs only) by ``qrels``.
        dataset: a catalogue id, e.g. ``"beir/scifact/test"``. With names, runs are scored on it only.
        qrels: a file, ``{query: {document: grade}}`` or a DataFrame. With ``dataset``, its rule applies to
            documents with the id of their query.
        measures: names of ir_measures, e.g. ``["RR@10"]``. By default the suite's for the dataset.

    Raises:
        UsageError: an unknown name, scale, file or measure, or no measurable cell.
        DataError: a malformed record or run file, with file and line.
        BlockedError: missing judgements, texts or encoder, with the remedy.
        StageError: a failed encoding or search.

    Example:
        >>> repro.compare("PAPER/1", yours="my.run").tests().to_frame()
    """
    given, measures, progress = _given(yours), _measures(measures), progress or Progress()
    has_judging = qrels is not None or bool(measures)
    if not given and (dataset or has_judging):
        raise UsageError("dataset, qrels and measures need runs, e.g. yours='my.run'")
    if given and not names:
        return _compare_alone(given, dataset, qrels, measures, workspace, progress)
    if has_judging:
        raise UsageError("qrels and measures cannot be combined with a paper's table. Remove its name.")
    selection = select(*names, rows=rows, scale=scale, seeds=seeds, readings=readings, workspace=workspace)
    if given:
        return compare_with_yours(selection, given, dataset, progress)
    cells = comparisons.compare_selection(selection, progress=progress)
    return ComparedWithYours(cells.comparison, cells.plan)


def _given(yours: Yours | Sequence[Yours]) -> list[Yours]:
    one = isinstance(yours, str | bytes | Path | Mapping) or is_frame(yours) or is_encoder_object(yours)
    given = [yours] if one or not isinstance(yours, Iterable) else list(yours)
    for each in given:
        if not _is_usable(each):
            raise refused(each)
    return given


def _is_usable(given: Yours) -> bool:
    if isinstance(given, str | Path):
        return given not in ("", Path())
    return is_run(given) or is_encoder_object(given) or (isinstance(given, Mapping) and bool(given))


def _measures(measures: Any) -> list[str]:
    check_several(measures=measures)
    given = list(measures) if isinstance(measures, Iterable) else [measures]
    for each in given:
        if not (isinstance(each, str) or type(each).__module__.startswith("ir_measures")):
            raise UsageError(f"a measure is a name or an object of ir_measures, not a {type(each).__name__}")
    return list(map(str, given))


def _compare_alone(
    given: Sequence[Yours],
    dataset: str | None,
    qrels: Any,
    measures: Sequence[str],
    workspace: Workspace | None,
    progress: Progress,
) -> ComparedWithYours:
    workspace = workspace or Workspace.open()
    from repro.plugins.yours.alone import scored_alone

    if not dataset and qrels is None:
        raise UsageError("name a table, e.g. PAPER/1, or a dataset or qrels to score the run")
    found = sources(given, workspace.data)
    judged = judged_by(dataset, qrels, workspace.data, workspace.locations.home)
    table = scored_alone(found, judged, measures, dataset or "", workspace, progress)
    return ComparedWithYours(table.comparison, yours=[table])


def compare_with_yours(
    selection: Selection, given: Sequence[Yours], dataset: str | None, progress: Progress
) -> ComparedWithYours:
    """Judge the cells of a selection, with rows of ``given`` runs and encoders below each table.

    Tables that cannot be scored are left out. If all are, raises the first error.
    """
    selection.scale_itself.pin_kernels(progress)  # before the libraries are loaded
    from repro.plugins.yours.places import name_of
    from repro.plugins.yours.table import own_table

    workspace = selection.workspace
    found = sources(given, workspace.data)
    plan = selection.plan()
    compared = judged_cells(plan, workspace.results, workspace.store).by_table().values()
    tables, reasons = [], {}
    for cells in compared:
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
    unanswered = [name for name, error in reasons.items() if isinstance(error, OtherQueriesError)]
    said = [f"{name} is left out: {error}" for name, error in reasons.items() if name not in unanswered]
    if unanswered:
        said.append(f"left out, as none of their queries is answered: {', '.join(unanswered)}")
    return said
