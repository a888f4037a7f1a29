"""Somebody's run, or encoder, scored as published numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from repro.api.listing import Listing
from repro.errors import UsageError
from repro.exchange.user_encoder import UserEncoder
from repro.exchange.user_encoder_scores import ColumnScore, scores_on_table
from repro.exchange.user_run_scores import scored_run
from repro.nn.encoder_conventions import Conventions, stated_or_chosen
from repro.progress import Progress
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RunScores:
    """A run's means over the judged queries of a dataset.

    Attributes:
        measures: name -> mean, a fraction; a judged query that the run lacks counts as 0.
        queries: how many are judged; ``missing`` of them are not in the run.
        foreign: queries of the run that are not judged and count nowhere.
        depth: documents of the judged query that has most.
        left_out: usual measures that look deeper than that.
    """

    measures: dict[str, float]
    queries: int
    missing: int
    foreign: int
    depth: int
    left_out: list[str]

    def as_json(self) -> dict:
        """The object that ``repro evaluate RUN --json`` prints."""
        return asdict(self)

    def to_frame(self) -> pandas.DataFrame:
        """A line per measure with its mean in column ``value``."""
        import pandas

        return pandas.Series(self.measures, name="value", dtype=float).rename_axis("measure").to_frame()


class EncoderScores(Listing[ColumnScore]):
    """An encoder's scores in the columns of a table.

    Attributes:
        conventions: how the encoder read texts; ``origin`` says where that is from.
        left_out: a sentence for each column that it was not scored in.
    """

    def __init__(
        self, scores: Sequence[ColumnScore], left_out: Sequence[str], conventions: Conventions, origin: str
    ):
        super().__init__(scores, line=ColumnScore.as_json, index="column")
        self.left_out, self.conventions, self.origin = list(left_out), conventions, origin


@overload
def evaluate(
    source: str | Path, *, dataset: str, measures: Sequence[str] = (), workspace: Workspace | None = None
) -> RunScores: ...
@overload
def evaluate(
    source: str | Path,
    *,
    table: str,
    columns: Sequence[str] = (),
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
    table: str | None = None,
    columns: Sequence[str] = (),
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
        measures: ir_measures names; none means those that the suite scores the dataset by.
        table: ``PAPER/NUMBER``; then ``source`` is an encoder.
        columns: ids; none means all that an encoder can be scored in.
        query_model: the encoder of queries, where it is another one.
        conventions: how the encoder reads texts, above what its directory says: see ``Conventions``.
        scale: below ``full`` other collections take the place of the table's.
        progress: hears of stages that run; nothing does without one.

    Raises:
        UsageError: no such file, dataset, measure, table, column or convention; a directory that is no model;
            a run that is not as deep as a measure.
        DataError: a malformed run, named with its line, or one that answers no judged query.
        BlockedError: judgements, collections or the encoder are not at hand; says how to get them.
        StageError: encoding or search failed.
    """
    workspace = workspace or Workspace.open()
    if (dataset is None) == (table is None):
        raise UsageError("a run is scored on a dataset, an encoder on a table; give one of the two")
    if dataset is not None:
        return _run(Path(source), dataset, measures, workspace)
    models = tuple(UserEncoder.find(str(name), workspace.data) for name in (source, query_model or source))
    chosen, origin = stated_or_chosen(models[0].folder, conventions)
    scores, left_out = scores_on_table(
        models,
        chosen,
        table=table,
        columns=columns,
        scale=scale_of(scale),
        workspace=workspace,
        progress=progress or Progress(),
    )
    return EncoderScores(scores, left_out, chosen, origin)


def _run(path: Path, dataset: str, measures: Sequence[str], workspace: Workspace) -> RunScores:
    if not path.is_file():  # before judgements are missed, or read
        raise UsageError(f"there is no file {str(path)!r}; give a TREC run, plain or gzipped")
    return RunScores(**scored_run(path, dataset, list(measures), data=workspace.data))
