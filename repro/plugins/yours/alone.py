"""Runs and encoders scored on a dataset or by judgements alone, without a paper's table.

For example, ``compare(yours=["my.run", "my-encoder"], dataset="beir/scifact/test")``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.graph import Node
from repro.manifest.papers import Paper
from repro.manifest.schema import Column, Manifest, Table
from repro.plugins.yours.encoders import UserEncoder, announce_duration
from repro.plugins.yours.places import Place, check_sources
from repro.plugins.yours.runs import Judged, OwnRun, Scored, usual_measures
from repro.plugins.yours.table import (
    DIGITS,
    NAME,
    OwnRow,
    OwnTable,
    differing_of,
    labels,
    own_cells,
    row_of,
    tested,
)
from repro.progress import Progress
from repro.retrieval.datasets.catalog import dataset as catalogued
from repro.retrieval.evaluation.measures import canonical
from repro.retrieval.recipe import corpus, queries
from repro.running.engines.inline import ensure
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import make_writable
from repro.verdicts.compared import Comparison

DEPTH = 1000  # of an encoder's search


def scored_alone(
    sources: Sequence[OwnRun | UserEncoder],
    judged: Sequence[Judged],
    measures: Sequence[str],
    dataset: str,
    workspace: Workspace,
    progress: Progress,
) -> OwnTable:
    """Score runs and encoders, by default with the suite's measures, and test every pair.

    ``judged`` has the judgements of one collection, or of several with a mean. The texts for encoders are
    those of ``dataset``, e.g. "beir/scifact/test", or of its members, and "" has none. Raises UsageError for
    an unknown measure or an encoder without texts, DataError for a malformed run or one that answers no
    query, BlockedError for missing texts, StageError.
    """
    names = list(dict.fromkeys(map(canonical, measures))) or usual_measures(judged[0].name)
    places = _places(judged, names)
    table = _table(dataset, judged, places, _means(judged, names), labels(sources))
    paper = Paper(NAME, Path(), "")
    vars(paper)["manifest"] = Manifest.model_construct(paper=NAME, title="Runs of one's own", tables=(table,))
    rows: list[OwnRow] = []
    errors: dict[str, ReproError] = {}
    for row, source, name in zip(table.rows, sources, labels(sources, "name"), strict=True):
        try:
            runs = _runs(source, judged, dataset, workspace, progress)
        except (UsageError, DataError, BlockedError) as error:
            errors[row.label] = error
            continue
        scored = _scores(runs, judged, names, places)
        cells = own_cells(paper, table, row, places, scored, "full")
        rows.append(
            OwnRow(row, source.source, name, cells, scored, _notes(source, runs), (), differing_of(scored))
        )
    if not rows:
        raise next(iter(errors.values()))
    comparison = Comparison([c for row in rows for c in row.cells], own_rows=tuple(r.row.id for r in rows))
    reasons = tuple(f"{label}: {error}" for label, error in errors.items())
    statuses = {label: error.exit_status for label, error in errors.items()}
    return replace(tested(comparison, rows, places, {}), left_out=reasons, statuses=statuses)


def _table(
    dataset: str,
    judged: Sequence[Judged],
    places: Mapping[str, Place],
    means: Iterator[Column],
    rows: Sequence[str],
) -> Table:
    title = judged[0].name if len(judged) == 1 else dataset
    return Table.model_construct(
        id=title,
        kind="study",
        about=f"runs scored by the judgements of {title}",
        columns=(*(place.column for place in places.values()), *means),
        rows=tuple(row_of(f"{NAME}-{number}", label) for number, label in enumerate(rows, 1)),
        decimals=DIGITS,
    )


def _notes(source: OwnRun | UserEncoder, runs: Mapping[str, OwnRun]) -> tuple[str, ...]:
    """Return sentences on an encoder's settings, and on its runs or the given run."""
    notes = dict.fromkeys(note for run in runs.values() for note in run.notes)
    return (*source.notes, *notes) if isinstance(source, UserEncoder) else tuple(notes)


def _places(judged: Sequence[Judged], names: Sequence[str]) -> dict[str, Place]:
    places = {}
    for each in judged:
        for name in names:
            short = each.name.rpartition("/")[2]
            several = len(judged) > 1
            identifier, head = (f"{short}.{name}", (short, name)) if several else (name, (name,))
            column = Column.model_construct(id=identifier, head=head, dataset=each.name, measure=name)
            places[identifier] = Place(column, "fraction", name, each.name)
    return places


def _means(judged: Sequence[Judged], names: Sequence[str]) -> Iterator[Column]:
    for name in names if len(judged) > 1 else ():
        members = tuple(f"{each.name.rpartition('/')[2]}.{name}" for each in judged)
        yield Column.model_construct(id=f"mean.{name}", head=("Mean", name), mean_of=members)


def _scores(
    runs: Mapping[str, OwnRun], judged: Sequence[Judged], names: Sequence[str], places: Mapping[str, Place]
) -> dict[str, Scored]:
    scores = {each.name: runs[each.name].scores(each, names) for each in judged if each.name in runs}
    return {
        column: scores[place.dataset][place.measure]
        for column, place in places.items()
        if place.dataset in scores
    }


def _runs(
    source: OwnRun | UserEncoder,
    judged: Sequence[Judged],
    dataset: str,
    workspace: Workspace,
    progress: Progress,
) -> dict[str, OwnRun]:
    """Return the run of a source for each set of judgements that it answers."""
    if isinstance(source, OwnRun):
        covered = source.covered({each.name: each for each in judged})
        return dict.fromkeys(covered, source)
    if not dataset:
        raise UsageError(f"{source.label} is an encoder, which needs texts. Name their --dataset or a table.")
    rankings = {}
    for each in judged:
        identifier = dataset if len(judged) == 1 else each.name
        passages, topics = corpus(catalogued(identifier).corpus_id), queries(identifier)
        ranking = source.ranking(passages, topics, depth=DEPTH, cap=None)
        rankings[each.name] = workspace.machine.resolve(ranking)
    _rank(source, list(rankings.values()), workspace, progress)
    return {name: _stored_run(source, ranking, workspace) for name, ranking in rankings.items()}


def _rank(source: UserEncoder, rankings: list[Node], workspace: Workspace, progress: Progress) -> None:
    store, machine = workspace.store, workspace.machine
    for ranking in rankings:
        check_sources(ranking, store, machine)
    make_writable(store.root)
    scale("full").pin_kernels(progress)
    announce_duration(source.label, rankings, store, progress, machine=machine)
    ensure(rankings, store, progress, machine=machine).raise_first()


def _stored_run(source: UserEncoder, ranking: Node, workspace: Workspace) -> OwnRun:
    run = OwnRun(workspace.store.checked(ranking) / "run.trec")
    run.source = run.name = run.label = source.label
    return run
