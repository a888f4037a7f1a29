"""A run file of a user, scored as the suite scores its own."""

from collections.abc import Sequence
from pathlib import Path

from repro.datasets import reading
from repro.datasets.catalog import Dataset, dataset
from repro.datasets.published_rows import differing, key
from repro.datasets.row_digests import ContentDigest
from repro.datasets.source import MissingPiece
from repro.datasets.sources import locate
from repro.errors import DataError, UsageError
from repro.evaluation.measures import Scores, check_grades, parse_measure, score
from repro.evaluation.qrels import Qrels
from repro.evaluation.run_depth import check_depth, looks_deeper, run_depth
from repro.evaluation.runs import read_run
from repro.manifest import measures_per_dataset
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import papers
from repro.running.measurement import COMPUTED
from repro.store import check_where_stored


def scored_run(path: Path, identifier: str, measures: Sequence[str], *, data: Path | None = None) -> dict:
    """Means of a TREC run, plain or gzipped, by a dataset's judgements.

    Args:
        identifier: a dataset of the catalogue, with its own rule about documents named like the query.
        measures: ir_measures names; none means those that the suite scores the dataset by, as far as the run
            goes.
        data: the folder of the user's own collections.

    Returns ``measures`` (name -> mean over all judged queries, fractions), ``queries``, ``missing`` (judged,
    not in the run: they score 0), ``foreign`` (in the run, not judged: left out), ``depth`` (documents of the
    judged query that has most), ``left_out`` (usual measures that look deeper) and ``differing`` (sentences
    on judgements that are not those published).

    Raises:
        UsageError: an unknown dataset or measure, a dataset that judgements of documents cannot score, or a
            run that is not as deep as a measure, or as any of the usual ones.
        DataError: a malformed run, named with its line, or one that answers no judged query.
        StoreError: it is a store's, and damaged.
        BlockedError: the judgements are not at hand; says how to get them.
    """
    entry = judged_by_documents(identifier)
    measure_names = list(dict.fromkeys(measures)) or usual_measures(identifier)
    for measure in measure_names:
        parse_measure(measure)
    qrels = judgements(identifier, data)
    check_where_stored(path)
    scores, depth = scores_of(path, qrels, measure_names, ignore_identical_ids=entry.ignore_identical_ids)
    deeper_measures = [measure for measure in measure_names if looks_deeper(measure, depth)]
    if measures or deeper_measures == measure_names:
        for measure in deeper_measures:
            check_depth(path, depth, measure)
    return {
        "measures": {
            measure: mean for measure, mean in scores.means.items() if measure not in deeper_measures
        },
        "queries": len(scores.queries),
        "missing": len(scores.missing),
        "foreign": scores.ignored,
        "depth": depth,
        "left_out": deeper_measures,
        "differing": unlike_published(qrels, identifier),
    }


def common_dataset(cells: Sequence[Cell], named: str | None) -> str | None:
    """The dataset that all the cells are scored on, or the named one where there is no cell.

    Raises UsageError for a cell that no single run gives, and where the datasets are not one and the same.
    """
    for cell in cells:
        if cell.column.kind in COMPUTED or not (cell.column.dataset and cell.column.measure):
            raise UsageError(f"{cell.id} is not scored from one run; name a cell of one dataset and measure")
        named = named or cell.column.dataset
        if cell.column.dataset != named:
            remedy = "name cells of one dataset, and that --dataset or none"
            raise UsageError(f"{cell.id} is scored on {cell.column.dataset} and not on {named}; {remedy}")
    return named


def judged_by_documents(identifier: str) -> Dataset:
    """The catalogue's entry. Raises UsageError where no judgements of documents belong to it."""
    entry = dataset(identifier)
    if entry.members:
        problem = f"{identifier} is the mean of {len(entry.members)} collections"
        raise UsageError(f"{problem}; score a run of each, as of {entry.members[0]}")
    if entry.judgements == "answers":
        problem = "judged by answers found in passages, which a run file alone does not show"
        raise UsageError(f"{identifier} is {problem}; `repro run` of a cell measures it with its corpus")
    if "qrels" not in entry.pieces:
        raise UsageError(f"{identifier} has no judgements, it is a {entry.what}; name one of its splits")
    return entry


def usual_measures(identifier: str) -> list[str]:
    """The measures of measures_per_dataset.yaml, else those that published tables give the dataset.

    Raises UsageError when there is none.
    """
    if names := measures_per_dataset.listed_measures(identifier):
        return list(names)
    columns = [c.column for source in papers().values() for c in numeric_cells(source)]
    measures = {c.measure for c in columns if c.dataset == identifier and c.measure}
    if not measures:
        raise UsageError(f"no table has a measure for {identifier}; name one with --measure, as nDCG@10")
    return sorted(measures)


def judgements(identifier: str, data: Path | None = None) -> Qrels:
    """Grades of a dataset from wherever its data lie. Raises BlockedError when they are nowhere."""
    source = locate(identifier, "qrels", data)
    if isinstance(source, MissingPiece):
        raise source.error()
    grades: Qrels = {}
    for judgement in reading.judgements(source):
        grades.setdefault(judgement.query, {})[judgement.document] = judgement.grade
    return grades


def unlike_published(qrels: Qrels, identifier: str) -> list[str]:
    """Return a sentence where these are not the judgements that the dataset publishes, as far as is known."""
    content = ContentDigest()
    for query, grades in qrels.items():
        for document, grade in grades.items():
            content.add((query, document, grade))
    return differing({key(identifier, "qrels"): content.hexdigest()})


def scores_of(
    path: Path, qrels: Qrels, measures: Sequence[str], *, ignore_identical_ids: bool
) -> tuple[Scores, int]:
    """Per-query scores of a run file, and its depth (``run_depth``), beyond which no score means anything.

    Raises DataError, beginning with the file, when it cannot be scored.

    That includes a run none of whose documents is judged: ids of another collection would all score 0.
    """
    run = read_run(path)
    try:
        check_grades(qrels, measures)
        scores = score(run, qrels, measures, ignore_identical_ids=ignore_identical_ids)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    if not any(d in grades for qid, grades in qrels.items() for d, _ in run.get(qid, ())):
        remedy = "check that its document ids are those of the dataset"
        raise DataError(f"{path}: none of its documents is judged for its query; {remedy}")
    return scores, run_depth(run, qrels)
