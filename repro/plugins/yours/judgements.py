"""The judgements by which runs of one's own are scored: a dataset's of the catalogue, or those in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError
from repro.manifest import measures_per_dataset
from repro.manifest.cells import numeric_cells
from repro.manifest.papers import papers
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import Dataset, dataset
from repro.retrieval.datasets.digests import ContentDigest
from repro.retrieval.datasets.published_rows import differing, key
from repro.retrieval.datasets.sources import MissingPiece, locate
from repro.retrieval.evaluation.qrels import Qrels


@dataclass(frozen=True)
class Judged:
    """Judgements, and the rule by which runs are scored by them.

    Attributes:
        name: of the dataset, or of the file.
        grades: query -> document -> grade.
        ignore_identical_ids: whether a document that is named like its query is dropped, as BEIR does.
        differing: sentences where these are not the judgements that the dataset publishes; nothing published
            compares then.
    """

    name: str
    grades: Mapping[str, Mapping[str, int]]
    ignore_identical_ids: bool
    differing: tuple[str, ...] = ()

    @classmethod
    def of(cls, identifier: str, data: Path | None, *, ignore: bool | None = None) -> "Judged":
        """Return the judgements of a dataset, with its own rule unless ``ignore`` says another.

        Raises:
            UsageError: there is no such dataset, or none that judgements of documents can score.
            BlockedError: the judgements are not at hand; says how to get them.
        """
        entry = judged_by_documents(identifier)
        grades = judgements(identifier, data)
        rule = entry.ignore_identical_ids if ignore is None else ignore
        return cls(identifier, grades, rule, tuple(unlike_published(grades, identifier)))


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
