"""Scores runs and encoders without a paper's table, e.g. on ``dataset="beir/scifact/test"``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from repro.errors import UsageError
from repro.manifest.papers import Paper
from repro.manifest.schema import Column, Manifest, Row, Table
from repro.plugins.yours import table as tables
from repro.plugins.yours.encoders import UserEncoder
from repro.plugins.yours.places import Place, Source, check_sources
from repro.plugins.yours.runs import Judged, OwnRun, usual_measures
from repro.plugins.yours.table import DIGITS, NAME, OwnRow, OwnTable, labels
from repro.progress import Progress
from repro.retrieval.datasets.catalog import dataset as catalogued
from repro.retrieval.evaluation.measures import canonical
from repro.retrieval.recipe import corpus, queries
from repro.running.engines.inline import ensure
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import make_writable

DEPTH = 1000  # of an encoder's search


def scored_alone(
    sources: Sequence[Source],
    judged: Judged,
    measures: Sequence[str],
    dataset: str,
    workspace: Workspace,
    progress: Progress,
) -> OwnTable:
    """Return the scores of runs and encoders, by default with the suite's measures, and tests of all pairs.

    Encoders encode the texts of ``dataset``. Raises UsageError, DataError for a malformed run or one that
    answers no query, BlockedError for missing texts, StageError.
    """
    names = list(dict.fromkeys(map(canonical, measures))) or usual_measures(judged.name)
    places = {}
    for name in names:
        column = Column.model_construct(id=name, head=(name,), dataset=judged.name, measure=name)
        places[name] = Place(column, "fraction", name, judged.name)
    table = Table.model_construct(
        id=judged.name,
        kind="study",
        about=f"runs scored by the judgements of {judged.name}",
        columns=tuple(place.column for place in places.values()),
        rows=tuple(tables.row_of(f"{NAME}-{n}", label) for n, label in enumerate(labels(sources), 1)),
        decimals=DIGITS,
    )
    paper = Paper(NAME, Path(), "")
    vars(paper)["manifest"] = Manifest.model_construct(paper=NAME, title="Runs of one's own", tables=(table,))

    def own_row(source: Source, row: Row, name: str) -> OwnRow:
        run = source if isinstance(source, OwnRun) else _encoded(source, dataset, workspace, progress)
        scored = run.scores(judged, names)
        cells = tables.own_cells(paper, table, row, places, scored, "full")
        settings = source.notes if isinstance(source, UserEncoder) else ()
        fields = cells, scored, (*settings, *run.notes), (), tables.differing_of(scored)
        return OwnRow(row, source.source, name, *fields)

    rows, errors = tables.rows_with_scores(sources, table.rows, own_row)
    reasons = tuple(f"{row.label}: {error}" for row, _, error in errors)
    statuses = {row.label: error.exit_status for row, _, error in errors}
    table_with_rows = tables.tested(tables.compared_with_rows([], rows), rows, places, {})
    return replace(table_with_rows, left_out=reasons, statuses=statuses)


def _encoded(encoder: UserEncoder, dataset: str, workspace: Workspace, progress: Progress) -> OwnRun:
    """Return the run of an encoder on a dataset, from the store or computed now."""
    if not dataset:
        raise UsageError(f"{encoder.label} is an encoder and needs texts. Name their --dataset or a table.")
    store, machine = workspace.store, workspace.machine
    passages, topics = corpus(catalogued(dataset).corpus_id), queries(dataset)
    ranking = machine.resolve(encoder.ranking(passages, topics, depth=DEPTH, cap=None))
    check_sources(ranking, store, machine)
    make_writable(store.root)
    scale("full").pin_kernels(progress)
    ensure([ranking], store, progress, machine=machine).raise_first()
    run = OwnRun(store.checked(ranking) / "run.trec")
    run.source = run.name = run.label = encoder.label
    return run
