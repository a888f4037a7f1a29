"""Measures named as in ir_measures, e.g. ``RR@10``, and their scores per query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from repro.errors import DataError, UsageError, unknown
from repro.machine.bounded_reading import read_facts

if TYPE_CHECKING:
    from repro.retrieval.evaluation.runs import Run
    from repro.retrieval.evaluation.text_lines import Judged, Qrels


FILE = Path(__file__).with_suffix(".yaml")
_FORM = re.compile(r"(?P<name>\w+)(?:\(rel=(?P<rel>[1-9][0-9]*)\))?@(?P<cutoff>[1-9][0-9]{0,8})")
QUERIES = 64


@dataclass(frozen=True)
class Family:
    """A row of measures.yaml, e.g. R, the family of ``R@50`` and ``R(rel=2)@1000``."""

    name: str
    aliases: Sequence[str]
    scored: bool = False
    graded: bool = True
    monotone: bool = False
    tolerance: str | None = None
    examples: Sequence[str] = ()
    words: Sequence[str] = ()
    short: Sequence[str] = ()
    usual: Mapping[str, int] = field(default_factory=dict)


@cache
def families() -> dict[str, Family]:
    return {row["name"]: Family(**row) for row in read_facts(FILE)}


@cache
def _names() -> dict[str, str]:
    return {alias: row.name for row in families().values() for alias in row.aliases}


def _examples(*, scored: bool) -> list[str]:
    return [each for row in families().values() if row.scored or not scored for each in row.examples]


@dataclass(frozen=True)
class Measure:
    """A measure with its cutoff, e.g. ``nDCG@10``. ``rel`` is the lowest relevant grade."""

    name: str
    cutoff: int
    rel: int = 1

    def __str__(self) -> str:
        level = f"(rel={self.rel})" if self.rel != 1 else ""
        return f"{self.name}{level}@{self.cutoff}"


@dataclass(frozen=True)
class Scores:
    """A run's scores per query.

    ``queries`` are the judged ones, sorted as text. ``missing`` ones are absent from the run and score 0.
    ``ignored`` counts the run's unjudged queries.
    """

    queries: list[str]
    measures: dict[str, list[float]]
    missing: list[str]
    ignored: int

    @property
    def means(self) -> dict[str, float]:
        """The means over judged queries, with equal bits in every Python."""
        # ``sum`` rounds less since Python 3.12
        return {text: reduce(add, values, 0) / len(values) for text, values in self.measures.items()}


@cache
def parse_measure(text: str) -> Measure:
    """Return the measure named e.g. ``"R(rel=2)@1000"``. Raises UsageError for an unknown name."""
    if match := _FORM.fullmatch(text):
        row = families().get(match["name"])
        if row and row.scored and (row.graded or not match["rel"]):
            return Measure(match["name"], int(match["cutoff"]), int(match["rel"] or 1))
    *graded, last = [row.name for row in families().values() if row.scored and row.graded]
    hint = f"Any cutoff of at least 1 is valid. rel=… is for {', '.join(graded)} and {last}."
    raise unknown("measure", text, _examples(scored=True), hint=hint)


def is_defined(measure: str, highest: int | None) -> bool:
    """Return whether ``measure`` counts a grade up to ``highest`` as relevant. None means unknown grades."""
    return highest is None or parse_measure(measure).rel <= highest


def check_grades(qrels: Judged, measures: Sequence[str]) -> None:
    """Raise DataError if every run scores 0 on one of the measures, as nothing is relevant."""
    highest = max((grade for grades in qrels.values() for grade in grades.values()), default=None)
    if highest is not None and highest < 1:
        count = sum(map(len, qrels.values()))
        raise DataError(f"none of the {count:,} judgements has a grade above 0, so that nothing is relevant")
    for text in measures:
        if not is_defined(text, highest):
            problem = f"{text} counts grade {parse_measure(text).rel} and above as relevant"
            raise DataError(f"{problem}, and the highest grade of these judgements is {highest}")


def score(
    run: Mapping[str, Sequence[tuple[str, float]]],
    qrels: Judged,
    measures: Sequence[str],
    *,
    ignore_identical_ids: bool,
) -> Scores:
    """Score a run (best document first, as from ``read_run``) against graded judgements.

    nDCG, R and Success come from trec_eval, RR@k from the MS MARCO script's port in ir_measures. Both receive
    ranks instead of scores. ``ignore_identical_ids`` drops documents with the query's id, as BEIR does.
    Raises UsageError for an unknown measure, DataError if no query of the run is judged.
    """
    from repro.retrieval.evaluation import runs, text_lines

    measures_by_name = {text: parse_measure(text) for text in measures}
    missing, ignored = coverage(run, qrels)
    by_measure: dict[str, list[float]] = {text: [] for text in measures_by_name}
    with text_lines.many_objects():
        for block in _blocks(qrels):
            rankings = {q: runs.document_ids(run[q]) for q in block if q in run}
            if ignore_identical_ids:
                rankings = {q: list(filter(q.__ne__, ranking)) for q, ranking in rankings.items()}
            scores = _trec_scores(set(measures_by_name.values()), _from_zero(block), rankings)
            for text, measure in measures_by_name.items():
                by_measure[text] += map(scores[measure].__getitem__, block)
    return Scores(sorted(qrels), by_measure, missing, ignored)


def _blocks(qrels: Judged) -> Iterator[dict[str, Mapping[str, int]]]:
    queries = sorted(qrels)
    for first in range(0, len(queries), QUERIES):
        yield {query: qrels[query] for query in queries[first : first + QUERIES]}


def _from_zero(qrels: Judged) -> dict[str, dict[str, int]]:
    # pytrec_eval writes grades below zero outside an array
    return {query: {d: max(grade, 0) for d, grade in grades.items()} for query, grades in qrels.items()}


def coverage(run: Mapping[str, object], judged: Mapping[str, object]) -> tuple[list[str], int]:
    """Return the judged queries absent from the run, sorted, and its number of unjudged queries.

    Raises DataError if run and judgements share no query.
    """
    if not judged:
        raise DataError("there are no judgements to score the run with")
    ignored = sum(qid not in judged for qid in run)
    if ignored == len(run):
        raise DataError(f"none of the run's {len(run)} queries is among the {len(judged)} judged ones")
    return sorted(qid for qid in judged if qid not in run), ignored


def by_rank(documents: Sequence[str]) -> dict[str, float]:
    """Return document -> score: K, K-1, …, 1 for K documents, best document first."""
    return dict(zip(documents, map(float, range(len(documents), 0, -1)), strict=True))


def _trec_scores(measures, qrels, documents) -> dict[Measure, dict[str, float]]:
    import ir_measures

    scores: dict[Measure, dict[str, float]] = {measure: {} for measure in measures}
    for provider, is_rr in ((ir_measures.msmarco, True), (ir_measures.pytrec_eval, False)):
        names = {_ir_measure(measure): measure for measure in measures if (measure.name == "RR") == is_rr}
        if names:
            depth = max(measure.cutoff for measure in names.values())
            ranks = {q: by_rank(_to_last_hit(ranking[:depth], qrels[q])) for q, ranking in documents.items()}
            for metric in provider.iter_calc(list(names), qrels, ranks):
                scores[names[metric.measure]][metric.query_id] = float(metric.value)
    return scores


def _ir_measure(measure: Measure):
    import ir_measures

    level = {"rel": measure.rel} if families()[measure.name].graded else {}
    return getattr(ir_measures, measure.name)(**level) @ measure.cutoff


def _to_last_hit(documents: list[str], grades: Mapping[str, int]) -> list[str]:
    hits = {document for document, grade in grades.items() if grade > 0}.intersection(documents)
    return documents[: max((documents.index(hit) + 1 for hit in hits), default=1)]


_NAME_FORM = re.compile(r"([A-Za-z][\w-]*?)(\(.*\))?(?:(?:@|_at_|_|\.)([0-9.]+))?")
_CAPPED = re.compile(r"R_cap(?:\(rel=([1-9][0-9]*)\))?@([1-9][0-9]*)")
_LARGEST_GRADE = 20  # whose exponential gain trec_eval can count


def canonical(name: str) -> str:
    """Return a measure's name in ir_measures, or ``R_cap@k``. Raises UsageError if it is unknown."""
    match = _NAME_FORM.fullmatch(name.strip())
    if match is None:
        raise unknown("measure", name, _examples(scored=False))
    family, settings, cutoff = match.groups(default="")
    text = _names().get(family.lower(), family) + settings + f"@{cutoff}" * bool(cutoff)
    if _CAPPED.fullmatch(text):
        return text
    return str(parse_measure(text)) if _is_suites(text) else str(_parsed(text, name))


@cache
def cutoff(name: str) -> int | None:
    match = re.search(r"@([1-9][0-9]*)$", canonical(name))
    return int(match[1]) if match else None


def looks_deeper(name: str, depth: float) -> bool:
    return (cutoff(name) or 0) > depth


def scores_by_query(names: Sequence[str], qrels: Qrels, rankings: Run) -> dict[str, dict[str, float]]:
    """Return measure -> judged query -> score, 0 without a ranking.

    Raises UsageError for an unknown measure, DataError if no run could score.
    """
    by_name = {name: canonical(name) for name in names}
    own_names = list(filter(_is_suites, by_name.values()))
    check_grades(qrels, own_names)
    own_scores = score(rankings, qrels, own_names, ignore_identical_ids=False)
    found = {n: dict(zip(own_scores.queries, own_scores.measures[n], strict=True)) for n in own_names}
    found |= {name: _other_scores(name, qrels, rankings) for name in {*by_name.values()} - found.keys()}
    return {name: found[by_name[name]] for name in names}


def _is_suites(name: str) -> bool:
    try:
        return bool(parse_measure(name))
    except UsageError:
        return False


def _other_scores(name: str, qrels: Qrels, rankings: Run) -> dict[str, float]:
    from repro.retrieval.evaluation.runs import document_ids

    level = re.search(r"\brel=([0-9]+)", name)
    check_grades(qrels, [f"R(rel={level[1]})@1"] if level else [])
    capped = _CAPPED.fullmatch(name)
    scores: dict[str, float] = {}
    for block in _blocks(qrels):
        ids = {query: document_ids(rankings[query]) for query in block if rankings.get(query)}
        scores |= dict.fromkeys(block, 0.0) | (
            _capped_recalls(block, ids, rel=int(capped[1] or 1), ranks=int(capped[2]))
            if capped
            else _scores_of_block(name, block, ids)
        )
    return scores


def _scores_of_block(name: str, qrels: Judged, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
    import ir_measures

    measure = _parsed(name, name)
    params = dict(measure.params)
    if params.pop("judged_only", False):
        ids = {query: list(filter(qrels[query].__contains__, ranking)) for query, ranking in ids.items()}
    gain = _gain if params.pop("dcg", None) == "exp-log2" else int
    grades = {query: {d: gain(grade) for d, grade in of.items()} for query, of in _from_zero(qrels).items()}
    ranks = {query: by_rank(ranking) for query, ranking in ids.items() if ranking}
    try:
        metrics = list(ir_measures.iter_calc([type(measure)(**params)], grades, ranks))
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error)[:80]}"
        raise UsageError(f"ir_measures cannot compute {name} here ({reason})") from error
    return {metric.query_id: float(metric.value) for metric in metrics}


def _capped_recalls(
    qrels: Judged, ids: Mapping[str, Sequence[str]], *, rel: int, ranks: int
) -> dict[str, float]:
    scores = {}
    for query, ranking in ids.items():
        relevant = {document for document, grade in qrels[query].items() if grade >= rel}
        scores[query] = len(relevant.intersection(ranking[:ranks])) / max(min(len(relevant), ranks), 1)
    return scores


def _gain(grade: int) -> int:
    if grade > _LARGEST_GRADE:
        raise DataError(f"grade {grade} is too large for an exponential gain. Use nDCG@k.")
    return 2**grade - 1


def _parsed(text: str, name: str):
    import ir_measures
    from ir_measures.providers import registry

    try:
        measure = ir_measures.parse_measure(text)
        base = type(measure)(**{k: v for k, v in measure.params.items() if k != "judged_only"})
        # in this order, as ranx compiles in is_available
        is_computed = any(p.supports(base) and p.is_available() for p in registry.values())
        is_known = measure.params.get("cutoff") != 0
    except (ValueError, NameError, AssertionError, TypeError, KeyError):
        is_known = False
    if not is_known:
        hint = "Other measures of ir_measures work too, with a cutoff of at least 1."
        raise unknown("measure", name, _examples(scored=False), hint=hint)
    if not is_computed:
        raise UsageError(f"{name} is a measure of ir_measures, but no installed package computes it")
    return measure
