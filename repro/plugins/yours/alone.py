"""Runs of one's own by judgements alone: a table of runs and measures without a paper, tested pairwise."""

from collections.abc import Sequence
from pathlib import Path

from repro.manifest.papers import Paper
from repro.manifest.schema import Column, Manifest, Row, Table
from repro.plugins.yours.given_qrels import read_given_qrels
from repro.plugins.yours.judgements import Judged, judged_by_documents, usual_measures
from repro.plugins.yours.runs import OwnRun
from repro.plugins.yours.table import NAME, OwnRow, OwnTable, Place, labels, own_cells, tested
from repro.retrieval.evaluation.measures import canonical
from repro.verdicts.compared import Comparison

DIGITS = 4  # as trec_eval prints


def judged_by(dataset: str | None, qrels: Path | None, data: Path | None) -> Judged:
    """Return the judgements of a dataset or of a file, of a file by the dataset's rule where both are named.

    Raises:
        UsageError: there is no such dataset, or none that judgements of documents can score.
        DataError: the file is malformed; says file and line.
        BlockedError: the dataset's judgements are not at hand.
    """
    if qrels is None:
        return Judged.of(dataset or "", data)
    rule = bool(dataset) and judged_by_documents(dataset).ignore_identical_ids
    return Judged(str(qrels), read_given_qrels(qrels), rule)


def scored_alone(runs: Sequence[OwnRun], judged: Judged, measures: Sequence[str]) -> OwnTable:
    """Score runs by judgements, and test every two of them by every measure.

    Args:
        measures: whatever ir_measures can give, or trec_eval's names for it; none means those that the suite
            scores the dataset by.

    Raises:
        UsageError: there is no such measure, or nothing says by which the dataset is scored.
        DataError: a run is malformed, answers no judged query, or would score 0 whatever it says.
    """
    names = list(dict.fromkeys(map(canonical, measures))) or usual_measures(judged.name)
    table = _table(runs, judged, names)
    places = {column.id: Place(column, "fraction", column.measure, ()) for column in table.columns}
    paper = Paper(NAME, Path(), "")
    title = "Runs of one's own"
    paper.__dict__["manifest"] = Manifest.model_construct(paper=NAME, title=title, tables=(table,))
    rows = []
    for row, run in zip(table.rows, runs, strict=True):
        run.covered({judged.name: judged})
        scored = run.scores(judged, names)
        cells = own_cells(paper, table, row, places, scored, "full")
        rows.append(OwnRow(row, run.source, cells, scored, run.notes, differing=judged.differing))
    comparison = Comparison([c for row in rows for c in row.cells], own_rows=tuple(r.row.id for r in rows))
    return tested(comparison, tuple(rows), places, {})


def _table(runs: Sequence[OwnRun], judged: Judged, measures: Sequence[str]) -> Table:
    columns = tuple(
        Column.model_construct(id=name, head=(name,), dataset=judged.name, measure=name) for name in measures
    )
    rows = tuple(
        Row.model_construct(id=f"{NAME}-{number}", label=label, role="reference")
        for number, label in enumerate(labels(runs), 1)
    )
    about = f"runs scored by the judgements of {judged.name}"
    return Table.model_construct(
        id=judged.name, kind="study", about=about, columns=columns, rows=rows, decimals=DIGITS
    )
