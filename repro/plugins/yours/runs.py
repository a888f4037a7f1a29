"""A run file of one's own, read once for each set of judgements and scored as the suite scores its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from repro.errors import DataError, UsageError
from repro.plugins.yours.judgements import Judged
from repro.plugins.yours.sources import SUFFIXES
from repro.retrieval.evaluation.given_runs import (
    GivenRun,
    OtherQueriesError,
    given_run,
    misspelt,
    read_given_file,
)
from repro.retrieval.evaluation.measures import looks_deeper, scores_by_query
from repro.retrieval.evaluation.runs import RunFile
from repro.store import check_where_stored

BY_CHANCE = 10  # times as often another set's documents are found: ids are whole numbers in several sets


@dataclass(frozen=True)
class Scored:
    """Scores by one measure, query by query.

    Attributes:
        parts: for each collection that a column averages its ``queries`` and, by measure, their scores.
        depth: documents of the judged query that has most.
        missing: judged queries that the run does not answer, which count as 0.
        run: the file of the run, where one gives the scores.
        collections: the datasets whose judgements count; empty where the column says them.
        differing: sentences where the judgements are not those published.
    """

    measure: str
    parts: Sequence[Mapping]
    depth: int
    missing: int
    run: Path | None = None
    collections: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @classmethod
    def of_stored(cls, parts: Sequence[Mapping], measure: str, *, depth: int, run: Path | None) -> "Scored":
        """Return the scores that stored evaluations hold."""
        return cls(measure, parts, depth, sum(len(part["missing"]) for part in parts), run)

    @property
    def values(self) -> list[float]:
        """The scores of all queries, fractions."""
        return [value for part in self.parts for value in part["measures"][self.measure]]

    @property
    def mean(self) -> float:
        """The mean over the collections of the means over their queries."""
        means = [sum(part["measures"][self.measure]) / len(part["queries"]) for part in self.parts]
        return sum(means) / len(means)

    @property
    def cut_at(self) -> int | None:
        """The depth of the run where the measure looks deeper, which may lower the score; else None."""
        return self.depth if looks_deeper(self.measure, self.depth) else None


class OwnRun:
    """A run file, plain or gzipped, in one of the forms that ``read_given_file`` reads.

    Attributes:
        source: the path as it was given; ``label`` the file's name without what it ends in.

    Raises UsageError where there is no such file, StoreError for a damaged one of a store.
    """

    def __init__(self, path: str | Path):
        self.path, self.source = Path(path).expanduser(), str(path)
        if not self.path.is_file():
            raise UsageError(f"there is no file {self.source!r}; give a run, plain or gzipped")
        check_where_stored(self.path)
        self.label = _label(self.path)
        self._given: dict[str, GivenRun] = {}

    def covered(self, judged: Mapping[str, Judged]) -> list[str]:
        """Return which of these sets the run answers, by its queries and documents.

        Ids of documents are whole numbers in several collections, so that a run of one finds some judged of
        another by chance: a set counts only where it is found in like measure.

        Raises DataError for a malformed run, or one that answers none of them.
        """
        errors: dict[str, DataError] = {}
        shares, _ = {}, self._file
        for name, each in judged.items():
            try:
                given = self._read(name, each)
            except DataError as error:
                errors[name] = error
                continue
            shared = given.rankings.keys() & each.grades.keys()
            shares[name] = sum(_finds_any(given.rankings[q], each.grades[q]) for q in shared) / len(shared)
        if not shares:
            raise self._why_none(errors, judged)
        return [name for name, share in shares.items() if share * BY_CHANCE >= max(shares.values())]

    def _why_none(self, errors: Mapping[str, DataError], judged: Mapping[str, Judged]) -> DataError:
        """The error for a run that answers no set: of one whose queries it has, if misspelt, or the first."""
        faults = [error for error in errors.values() if not isinstance(error, OtherQueriesError)]
        if faults:
            return faults[0]
        queries = list(self._file.rankings)
        first = next((name for name in errors if misspelt(queries, judged[name].grades)), next(iter(errors)))
        others = ", ".join(name for name in errors if name != first)
        text = f"{errors[first]}; nor does it answer {others}" if others else str(errors[first])
        return OtherQueriesError(text)

    def _read(self, name: str, judged: Judged) -> GivenRun:
        if name not in self._given:
            rule = judged.ignore_identical_ids
            self._given[name] = given_run(self.path, self._file, judged.grades, ignore_identical_ids=rule)
        return self._given[name]

    @cached_property
    def _file(self) -> RunFile:
        return read_given_file(self.path)

    def scores(self, judged: Judged, measures: Sequence[str]) -> dict[str, Scored]:
        """Score the run by some measures (ir_measures names).

        Raises UsageError for an unknown measure, DataError for judgements by which every run would score 0.
        """
        given = self._read(judged.name, judged)
        queries = sorted(judged.grades)
        try:
            by_query = scores_by_query(measures, judged.grades, given.rankings)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None
        parts = [{"queries": queries, "measures": {m: [by_query[m][q] for q in queries] for m in measures}}]
        facts = {"missing": len(given.missing), "run": self.path, "collections": (judged.name,)}
        facts |= {"differing": judged.differing}
        return {measure: Scored(measure, parts, given.depth, **facts) for measure in measures}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was read, and what the file says against itself."""
        return tuple(
            dict.fromkeys(note for name, given in self._given.items() for note in _notes(name, given))
        )


def _label(path: Path) -> str:
    name = path.name
    while (suffix := Path(name).suffix.lower()) in SUFFIXES and Path(name).stem:
        name = name[: -len(suffix)]
    return name


def _finds_any(ranking: Sequence[tuple[str, float]], grades: Mapping[str, int]) -> bool:
    return any(document in grades for document, _ in ranking)


def _notes(name: str, given: GivenRun) -> list[str]:
    judged = len(given.rankings) + len(given.missing)
    answered = f"{len(given.rankings)} of {judged} judged queries"
    return [f"{name}: {given.form}, {answered}, {given.depth} documents a query", *given.notes]
