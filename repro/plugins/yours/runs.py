"""Reads runs and encoders of users, e.g. a file or a folder, and scores runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import DataError, UsageError, visible
from repro.machine.bounded_reading import as_file, lines
from repro.manifest import cells, yaml_file
from repro.manifest.papers import papers
from repro.plugins.yours import in_memory
from repro.retrieval.datasets import digests, reading, record_files
from repro.retrieval.datasets.catalog import Dataset, Judgement, catalog, dataset, differing, key
from repro.retrieval.datasets.sources import MissingPiece, locate
from repro.retrieval.evaluation import judged_runs, runs
from repro.retrieval.evaluation.measures import looks_deeper, scores_by_query
from repro.retrieval.evaluation.text_lines import Qrels, first_bytes, read_json
from repro.running import measurement
from repro.store import check_where_stored

BY_CHANCE = 10
_FORMS = "Judgements have TREC's form (qid 0 docid grade), BEIR's (qid docid grade, separated by tabs)"
_FORMS += " or are JSON {qid: {docid: grade}}."

# for each averaged collection its ``queries``, and their scores by measure (``measures``)
Parts = list[dict[str, Any]]


@dataclass(frozen=True)
class Judged:
    """Judgements of a dataset, e.g. ``"beir/scifact/test"``, or of a file.

    Attributes:
        ignore_identical_ids: drop a document named like its query, as BEIR does.
        differing: sentences on differences from the published judgements.
    """

    name: str
    grades: Qrels
    ignore_identical_ids: bool
    differing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, id: str, data: Path | None, *, home: Path | None = None, ignore: bool | None = None
    ) -> Judged:
        """Return a dataset's judgements. ``ignore`` replaces its rule on identical ids.

        Raises UsageError, BlockedError.
        """
        rule = judged_by_documents(id).ignore_identical_ids if ignore is None else ignore
        grades = judgements(id, data, home)
        return cls(id, grades, rule, tuple(unlike_published(grades, id)))


def judged_by(dataset: str | None, qrels: Any, data: Path | None, home: Path | None = None) -> list[Judged]:
    """Return a list of judgements: ``qrels``, or without it those of each collection of a dataset.

    With both, the dataset only decides on documents named like their query. Raises UsageError for an unknown
    or unjudged dataset, DataError for malformed ``qrels``, BlockedError for absent data.
    """
    if qrels is None:
        members = catalog()[dataset].members if dataset in catalog() else ()
        return [Judged.of(name, data, home=home) for name in members or (dataset or "",)]
    rule = judged_by_documents(dataset).ignore_identical_ids if dataset else False
    if not isinstance(qrels, str | Path):
        return [Judged("qrels", _useful(in_memory.judgements_in_memory(qrels), "qrels"), rule)]
    path = as_file(qrels)
    return [Judged(path.name, read_given_qrels(path), rule)]


def judged_by_documents(id: str) -> Dataset:
    """Return the catalogue entry of a dataset. Raises UsageError for a mean, or without judged documents."""
    entry = dataset(id)
    if entry.members:
        problem = f"{id} is the mean of {len(entry.members)} collections"
        raise UsageError(f"{problem}. Score a run of each, e.g. {entry.members[0]}.")
    if entry.judgements == "answers":
        problem = "is judged by answers in passages, which a run file does not contain"
        raise UsageError(f"{id} {problem}. `repro run CELL` measures it with its corpus.")
    if "qrels" not in entry.pieces:
        raise UsageError(f"{id} is a {entry.what} and has no judgements. Name one of its splits.")
    return entry


def usual_measures(id: str) -> list[str]:
    """Return a dataset's listed measures, or those of published cells. Raises UsageError without any."""
    if names := measurement.listed_measures(id):
        return list(names)
    columns = [c.column for source in papers().values() for c in cells.numeric_cells(source)]
    measures = {c.measure for c in columns if c.dataset == id and c.measure}
    if not measures:
        raise UsageError(f"{id} has no usual measure. Name one, e.g. --measure nDCG@10.")
    return sorted(measures)


def judgements(id: str, data: Path | None = None, home: Path | None = None) -> Qrels:
    """Return the grades of a dataset by query and document. Raises BlockedError."""
    source = locate(id, "qrels", data, home=home)
    if isinstance(source, MissingPiece):
        raise source.error()
    return _by_query(reading.judgements(source))


def _by_query(found: Iterable[Judgement]) -> Qrels:
    grades: Qrels = {}
    for query, document, grade in found:
        grades.setdefault(query, {})[document] = grade
    return grades


def unlike_published(qrels: Qrels, id: str) -> list[str]:
    content = digests.ContentDigest()
    for query, grades in qrels.items():
        for document, grade in grades.items():
            content.add((query, document, grade))
    return differing({key(id, "qrels"): content.hexdigest()})


def read_given_qrels(path: Path) -> Qrels:
    """Read judgements in TREC's or BEIR's format or JSON. Raises DataError with file and line."""
    if first_bytes(path).startswith(b"{"):
        return _useful(read_json(path, "grade", _grade), path)
    number, first = next(lines(path))
    columns = len(first.split())
    if columns not in (3, 4):
        kind = " like a run" if columns == 6 else ""
        raise DataError(f"{path}:{number}: {columns} columns{kind}. {_FORMS}")
    return _useful(_by_query(record_files.judgements(path, "beir" if columns == 3 else "trec")), path)


def _useful(qrels: Qrels, place: str | Path) -> Qrels:
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        count = sum(map(len, qrels.values()))
        raise DataError(f"{place}: none of the {count:,} judgements has a grade above 0: nothing is relevant")
    return qrels


def _grade(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(f"{place}: the grade {value!r} is not a whole number")
    return value


def mean_score(parts: Parts, measure: str) -> float:
    """Return the mean over collections of the mean over queries, e.g. 0.335."""
    means = [sum(part["measures"][measure]) / len(part["queries"]) for part in parts]
    return sum(means) / len(means)


def all_scores(parts: Parts, measure: str) -> list[float]:
    return [value for part in parts for value in part["measures"][measure]]


@dataclass(frozen=True)
class Scored:
    """The scores of a run for one measure.

    Attributes:
        depth: the largest number of documents that the run has for a judged query.
        missing: the number of unanswered queries. Their scores are 0.
        run: the run file, if there is a single one.
        collections: the datasets of the judgements, or () for those that the column names.
    """

    measure: str
    parts: Parts
    depth: int
    missing: int
    run: Path | None = None
    collections: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @property
    def values(self) -> list[float]:
        return all_scores(self.parts, self.measure)

    @property
    def mean(self) -> float:
        return mean_score(self.parts, self.measure)

    @property
    def cut_at(self) -> int | None:
        """The depth of the run if the measure's cutoff is deeper."""
        return self.depth if looks_deeper(self.measure, self.depth) else None


class OwnRun:
    """A run file, e.g. ``my.run.gz`` with the label ``my``.

    Raises UsageError if it is missing, StoreError if it belongs to a damaged artefact.
    """

    def __init__(self, path: str | Path):
        self.path, self.source = as_file(path), str(path)
        if not self.path.is_file():
            raise UsageError(f"there is no run file {self.source!r}")
        check_where_stored(self.path)
        self.name = self.label = self.path.name
        while (suffix := Path(self.label).suffix.lower()) in SUFFIXES and Path(self.label).stem:
            self.label = self.label[: -len(suffix)]
        self._given: dict[str, judged_runs.GivenRun] = {}

    @classmethod
    def in_memory(cls, run: runs.RunFile) -> OwnRun:
        own = cls.__new__(cls)
        own.source = own.name = own.label = "yours"
        own.path = Path(own.label)
        own._given, own._file = {}, run
        return own

    @property
    def folder(self) -> str:
        return self.path.resolve().parent.name if self.path.is_file() else ""

    @property
    def file(self) -> Path | None:
        return self.path if self.path.is_file() else None

    def covered(self, judged: Mapping[str, Judged]) -> list[str]:
        """Return the names of the sets of judgements that the run answers. Raises DataError if there is none.

        Queries of several sets have whole numbers as ids. Therefore the share of queries with a judged
        document must be at least a tenth of that in the best set.
        """
        errors, shares = dict[str, DataError](), dict[str, float]()
        _ = self._file  # a malformed file is not a fault of a set
        for name, each in judged.items():
            try:
                given = self._read(name, each)
            except DataError as error:
                errors[name] = error
                continue
            shared = given.rankings.keys() & each.grades.keys()
            found = [any(document in each.grades[q] for document, _ in given.rankings[q]) for q in shared]
            shares[name] = sum(found) / len(found)
        if not shares:
            raise min(errors.values(), key=lambda error: isinstance(error, judged_runs.OtherQueriesError))
        return [name for name, share in shares.items() if share * BY_CHANCE >= max(shares.values())]

    def _read(self, name: str, judged: Judged) -> judged_runs.GivenRun:
        if name not in self._given:
            rule, grades = judged.ignore_identical_ids, judged.grades
            given = judged_runs.given_run(self.path, self._file, grades, ignore_identical_ids=rule)
            self._given[name] = given
        return self._given[name]

    @cached_property
    def _file(self) -> runs.RunFile:
        return runs.read_run_file(self.path, strict=False)

    def scores(self, judged: Judged, measures: Sequence[str]) -> dict[str, Scored]:
        """Return measure -> the run's scores. Raises UsageError for an unknown measure, DataError."""
        given = self._read(judged.name, judged)
        queries = sorted(judged.grades)
        try:
            by_query = scores_by_query(measures, judged.grades, given.rankings)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None
        parts = [{"queries": queries, "measures": {m: [by_query[m][q] for q in queries] for m in measures}}]
        missing, names = len(given.missing), (judged.name,)
        return {
            measure: Scored(measure, parts, given.depth, missing, self.file, names, judged.differing)
            for measure in measures
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the run's format, the number of answered queries, and contradictions in the file."""
        notes: dict[str, None] = {}
        for name, given in self._given.items():
            answered = f"{len(given.rankings)} of {len(given.rankings) + len(given.missing)} judged queries"
            read = f"{name}: {given.form}, {answered}, {given.depth} documents a query"
            notes |= dict.fromkeys([read, *given.notes])
        return tuple(notes)


if TYPE_CHECKING:
    from repro.plugins.yours.encoders import UserEncoder

DESCRIPTIONS = (".yaml", ".yml")  # of encoders' settings
SUFFIXES = (".gz", ".trec", ".run", ".res", ".txt", ".tsv", ".json", ".parquet")
Yours = Any  # a path, a name, or an object of in_memory.TAKEN


def is_encoder(source: Yours) -> bool:
    """Return whether this is a folder, a YAML file, a name on the hub or an encoder object."""
    if not isinstance(source, str | Path):
        return not in_memory.is_run(source)
    path = Path(source).expanduser()
    is_of_hub = not path.exists() and str(source).count("/") == 1 and path.suffix not in SUFFIXES
    return path.suffix in DESCRIPTIONS or path.is_dir() or is_of_hub


def sources(given: Sequence[Yours], data: Path | None) -> list[OwnRun | UserEncoder]:
    """Return each as a run or an encoder. Raises UsageError, DataError, BlockedError (absent encoder)."""
    return [_source(each, data) for each in given]


def _source(source: Yours, data: Path | None) -> OwnRun | UserEncoder:
    if in_memory.is_run(source):
        return OwnRun.in_memory(in_memory.run_in_memory(source))
    if not is_encoder(source):
        return OwnRun(source)
    from repro.plugins.yours.encoders import UserEncoder

    if in_memory.is_encoder_object(source):
        folder, facts = in_memory.saved_encoder(source)
        return UserEncoder.find(str(folder), data, facts)
    if isinstance(source, Mapping):
        facts = dict(source)
    elif Path(source).suffix in DESCRIPTIONS:
        facts = dict(yaml_file.read(Path(source).expanduser(), dict[str, str | int]))
    else:
        return UserEncoder.find(str(source), data, {})
    if not (name := facts.pop("model", None)):
        raise UsageError(f"{visible(source)} names no model. Add `model: DIR`.")
    try:
        return UserEncoder.find(str(name), data, facts)
    except UsageError as error:
        raise UsageError(f"{visible(source)}: {error}") from None
