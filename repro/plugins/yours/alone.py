"""Scores runs and encoders without a paper's table, e.g. on ``dataset="beir/scifact/test"``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from repro.errors import UsageError
from repro.manifest.papers import Paper
from repro.manifest.schema import Column, Manifest, Row, Table
from repro.plugins.yours import table as tables
from repro.plugins.yours.encoders import UserEncoder, announce_duration
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
    judged: Sequence[Judged],
    measures: Sequence[str],
    dataset: str,
    workspace: Workspace,
    progress: Progress,
) -> OwnTable:
    """Return the scores of runs and encoders, by default with the suite's measures, and tests of all pairs.

    Several ``judged`` collections also have a mean. Encoders encode the texts of ``dataset``. Sources that
    cannot be scored are left out. If none remains, raises UsageError, DataError (malformed run, no answered
    query) or BlockedError (missing texts). Raises StageError.
    """
    names = list(dict.fromkeys(map(canonical, measures))) or usual_measures(judged[0].name)
    places = _places(judged, names)
    title = judged[0].name if len(judged) == 1 else dataset
    table = Table.model_construct(
        id=title,
        kind="study",
        about=f"runs scored by the judgements of {title}",
        columns=(*(place.column for place in places.values()), *_means(judged, names)),
        rows=tuple(tables.row_of(f"{NAME}-{n}", label) for n, label in enumerate(labels(sources), 1)),
        decimals=DIGITS,
    )
    paper = Paper(NAME, Path(), "")
    vars(paper)["manifest"] = Manifest.model_construct(paper=NAME, title="Runs of one's own", tables=(table,))

    def own_row(source: Source, row: Row, name: str) -> OwnRow:
        runs = _runs(source, judged, dataset, workspace, progress)
        scores = {e.name: runs[e.name].scores(e, names) for e in judged if e.name in runs}
        covered = {column: place for column, place in places.items() if place.dataset in scores}
        scored = {column: scores[place.dataset][place.measure] for column, place in covered.items()}
        cells = tables.own_cells(paper, table, row, places, scored, "full")
        notes = dict.fromkeys(note for run in runs.values() for note in run.notes)
        settings = source.notes if isinstance(source, UserEncoder) else ()
        fields = cells, scored, (*settings, *notes), (), tables.differing_of(scored)
        return OwnRow(row, source.source, name, *fields)

    rows, errors = tables.rows_with_scores(sources, table.rows, own_row)
    reasons = tuple(f"{row.label}: {error}" for row, _, error in errors)
    statuses = {row.label: error.exit_status for row, _, error in errors}
    made = tables.tested(tables.compared_with_rows([], rows), rows, places, {})
    return replace(made, left_out=reasons, statuses=statuses)


def _places(judged: Sequence[Judged], names: Sequence[str]) -> dict[str, Place]:
    places = {}
    for each, name in product(judged, names):
        head = (each.name.rpartition("/")[2], name) if len(judged) > 1 else (name,)
        column = Column.model_construct(id=".".join(head), head=head, dataset=each.name, measure=name)
        places[column.id] = Place(column, "fraction", name, each.name)
    return places


def _means(judged: Sequence[Judged], names: Sequence[str]) -> Iterator[Column]:
    for name in names if len(judged) > 1 else ():
        members = tuple(f"{each.name.rpartition('/')[2]}.{name}" for each in judged)
        yield Column.model_construct(id=f"mean.{name}", head=("Mean", name), mean_of=members)


def _runs(
    source: Source, judged: Sequence[Judged], dataset: str, workspace: Workspace, progress: Progress
) -> dict[str, OwnRun]:
    if isinstance(source, OwnRun):
        covered = source.covered({each.name: each for each in judged})
        return dict.fromkeys(covered, source)
    if not dataset:
        raise UsageError(f"{source.label} is an encoder and needs texts. Name their --dataset or a table.")
    store, machine = workspace.store, workspace.machine
    rankings = {}
    for each in judged:
        id = dataset if len(judged) == 1 else each.name
        passages, topics = corpus(catalogued(id).corpus_id), queries(id)
        ranking = machine.resolve(source.ranking(passages, topics, depth=DEPTH, cap=None))
        check_sources(ranking, store, machine)
        rankings[each.name] = ranking
    nodes = list(rankings.values())
    make_writable(store.root)
    scale("full").pin_kernels(progress)
    announce_duration(source.label, nodes, store, progress, machine=machine)
    ensure(nodes, store, progress, machine=machine).raise_first()
    runs = {name: OwnRun(store.checked(ranking) / "run.trec") for name, ranking in rankings.items()}
    for run in runs.values():
        run.source = run.name = run.label = source.label
    return runs
