"""Somebody's run, or encoder, scored as published numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from repro.api.listing import Listing
from repro.api.selection import check_several
from repro.errors import UsageError
from repro.judging.among_others import ValueAmongOthers, among_others_of_share
from repro.manifest.cells import Cell, cell
from repro.progress import Progress
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace
from repro.yours.encoders import UserEncoder

if TYPE_CHECKING:
    import pandas

    from repro.exchange.user_encoder_scores import ColumnScore


@dataclass(frozen=True)
class RunScores:
    """A run's means over the judged queries of a dataset.

    Attributes:
        measures: name -> mean, a fraction; a judged query that the run lacks counts as 0.
        queries: how many are judged; ``missing`` of them are not in the run.
        foreign: queries of the run that are not judged and count nowhere.
        depth: documents of the judged query that has most.
        left_out: usual measures that look deeper than that.
        differing: sentences on judgements that are not those published; then nothing published compares.
        among_others: the place of the means among what others state, of the cells that were named.
    """

    measures: dict[str, float]
    queries: int
    missing: int
    foreign: int
    depth: int
    left_out: list[str]
    differing: list[str]
    among_others: list[ValueAmongOthers] = field(default_factory=list)

    def as_json(self) -> dict:
        """The object that ``repro compare RUN --dataset ID --format json`` prints."""
        return vars(self) | {"among_others": [place.as_json() for place in self.among_others]}

    def to_frame(self) -> pandas.DataFrame:
        """A line per measure with its mean in column ``value``."""
        import pandas

        return pandas.Series(self.measures, name="value", dtype=float).rename_axis("measure").to_frame()


class EncoderScores(Listing["ColumnScore"]):
    """An encoder's scores in the columns of a table.

    Attributes:
        described: a sentence on how the encoder read texts, and by whose word.
        left_out: a sentence for each column that it was not scored in.
    """

    def __init__(self, scores: Sequence[ColumnScore], left_out: Sequence[str], described: str):
        super().__init__(scores, line=lambda score: score.as_line(), index="column")
        self.left_out, self.described = list(left_out), described


@overload
def evaluate(
    source: str | Path,
    *,
    dataset: str | None = None,
    measures: Sequence[str] = (),
    cells: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> RunScores: ...
@overload
def evaluate(
    source: str | Path,
    *,
    table: str,
    columns: Sequence[str] = (),
    row: str | None = None,
    query_model: str | Path | None = None,
    conventions: Mapping[str, Any] = MappingProxyType({}),
    scale: str = "full",
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> EncoderScores: ...
def evaluate(
    source: str | Path,
    *,
    dataset: str | None = None,
    measures: Sequence[str] = (),
    cells: Sequence[str] = (),
    table: str | None = None,
    columns: Sequence[str] = (),
    row: str | None = None,
    query_model: str | Path | None = None,
    conventions: Mapping[str, Any] = MappingProxyType({}),
    scale: str = "full",
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> RunScores | EncoderScores:
    """Score a run file by a dataset's judgements, or an encoder in the columns of a published table.

    An encoder goes through the suite's own encoding, search and scoring, whose outcome is stored, so that
    asking again costs nothing. No record of the table's rows is written.

    Args:
        source: a TREC run, plain or gzipped; or an encoder: a directory, or a name in the hub's cache.
        dataset: of the catalogue; then ``source`` is a run.
        measures: ir_measures names; none means those of the cells or, without cells, those that the suite
            scores the dataset by.
        cells: ids of cells whose system the run is meant to be, all of one dataset, which need not be named
            then; its means are placed among what others state of them.
        table: ``PAPER/NUMBER``; then ``source`` is an encoder.
        columns: ids; none means all that an encoder can be scored in.
        row: id of the row that the encoder is meant to be; its scores are placed among what others state of
            it or, where no row is named, of the best published one.
        query_model: the encoder of queries, where it is another one.
        conventions: how the encoder reads texts, above what its directory says: see ``FACTS``.
        scale: below ``full`` other collections take the place of the table's.
        progress: hears of stages that run; nothing does without one.

    Raises:
        UsageError: no such file, dataset, measure, cell, table, column, row or convention; a directory that
            is no model; a run that is not as deep as a measure.
        DataError: a malformed run, named with its line, or one that answers no judged query.
        BlockedError: judgements, collections or the encoder are not at hand; says how to get them.
        StageError: encoding or search failed.
    """
    check_several(measures=measures, cells=cells, columns=columns)
    workspace = workspace or Workspace.open()
    named_cells = [cell(name) for name in cells]
    dataset = _dataset_of(named_cells, dataset)
    if (dataset is None) == (table is None):
        raise UsageError("a run is scored on a dataset, an encoder on a table; give one of the two")
    if any((measures,) if dataset is None else (columns, row, query_model, conventions, scale != "full")):
        message = "columns, row, query_model, conventions and scale are of an encoder, measures of a run"
        raise UsageError(f"{message}; leave out what is of the other")
    if dataset is not None:
        return _run_scores(Path(source), dataset, measures, named_cells, workspace)
    facts = dict(conventions) | ({"query_model": str(query_model)} if query_model else {})
    options = {"table": table, "columns": columns, "row": row, "scale": scale_of(scale)}
    options |= {"workspace": workspace, "progress": progress or Progress()}
    return _encoder_scores(str(source), facts, options)


def _dataset_of(cells: Sequence[Cell], dataset: str | None) -> str | None:
    """The dataset that a run is scored on; None where nothing names one, as for an encoder."""
    if not cells:
        return dataset
    from repro.exchange.user_run_scores import common_dataset

    return common_dataset(cells, dataset)


def _encoder_scores(name: str, facts: Mapping[str, Any], options: Mapping[str, Any]) -> EncoderScores:
    """Score an encoder; ``options`` are those of ``scores_on_table``."""
    options["scale"].pin_kernels(options["progress"])  # before what scores loads their libraries
    encoder = UserEncoder.find(name, options["workspace"].data, facts)
    from repro.exchange.user_encoder_scores import scores_on_table

    scores, left_out = scores_on_table(encoder.ranking, **options)
    return EncoderScores(scores, left_out, encoder.described)


def _run_scores(
    path: Path, dataset: str, measures: Sequence[str], cells: Sequence[Cell], workspace: Workspace
) -> RunScores:
    if not path.is_file():  # before judgements are missed, or read
        raise UsageError(f"there is no file {str(path)!r}; give a TREC run, plain or gzipped")
    names = [*measures, *(cell.column.measure for cell in cells)]
    from repro.exchange.user_run_scores import scored_run

    scores = scored_run(path, dataset, names, data=workspace.data)
    comparable = () if scores["differing"] else cells
    places = [among_others_of_share(cell, scores["measures"][cell.column.measure]) for cell in comparable]
    return RunScores(**scores, among_others=[place for place in places if place])
