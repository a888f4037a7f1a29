"""Measures named as in ir_measures, and per-query scores under them.

Importing this module loads no scorer: :func:`parse_measure` is also what a plan checks names with.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from repro.errors import DataError, unknown
from repro.retrieval.evaluation.text_lines import many_objects

_FORM = re.compile(r"(?P<name>nDCG|RR|R|Success)(?:\(rel=(?P<rel>[1-9][0-9]*)\))?@(?P<cutoff>[1-9][0-9]*)")
QUERIES = 64  # scored at a time: what the scorers keep of a ranking takes ten times its columns
KNOWN = ("RR@10", "nDCG@10", "R@1000", "R(rel=2)@1000", "Success@20")


@dataclass(frozen=True)
class Measure:
    """A measure with its cut-off; prints as ir_measures writes it.

    Attributes:
        name: nDCG, RR, R or Success.
        cutoff: ranks looked at, from 1.
        rel: the lowest grade that counts as relevant (always 1 for nDCG, whose gains are the grades).
    """

    name: str
    cutoff: int
    rel: int = 1

    def __str__(self) -> str:
        level = f"(rel={self.rel})" if self.rel != 1 else ""
        return f"{self.name}{level}@{self.cutoff}"


@dataclass(frozen=True)
class Scores:
    """A run's scores, query by query.

    Attributes:
        queries: the judged queries, sorted as text.
        measures: a list of scores (fractions) for each measure, in the order of ``queries``.
        missing: judged queries of which the run says nothing; they score 0.
        ignored: how many queries of the run are not judged.
    """

    queries: list[str]
    measures: dict[str, list[float]]
    missing: list[str]
    ignored: int

    @property
    def means(self) -> dict[str, float]:
        """The mean over all judged queries, missing ones included; of the same bits in every Python."""
        # ``sum`` makes up for what rounding loses since Python 3.12
        return {text: reduce(add, values, 0) / len(values) for text, values in self.measures.items()}


def parse_measure(text: str) -> Measure:
    """Read ``"R(rel=2)@1000"``; raises UsageError with the known names for anything else.

    A cut-off is always needed, ``rel`` is allowed for all but nDCG.
    """
    match = _FORM.fullmatch(text)
    if match is None or (match["name"] == "nDCG" and match["rel"]):
        raise unknown("measure", text, KNOWN, hint="with any cut-off from 1; rel=… for RR, R and Success")
    return Measure(match["name"], int(match["cutoff"]), int(match["rel"] or 1))


def is_defined(measure: str, highest: int | None) -> bool:
    """Return whether judgements up to this grade, None for unknown ones, can tell relevant documents."""
    return highest is None or parse_measure(measure).rel <= highest


def check_grades(qrels: Mapping[str, Mapping[str, int]], measures: Sequence[str]) -> None:
    """Raise DataError for judgements by which every run scores 0, under all measures or under one of them."""
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
    qrels: Mapping[str, Mapping[str, int]],
    measures: Sequence[str],
    *,
    ignore_identical_ids: bool,
) -> Scores:
    """Score a run (best document first, as ``read_run`` gives it) against graded judgements.

    nDCG, R and Success come from trec_eval through pytrec_eval, RR@k from the MS MARCO script's port in
    ir_measures. Both see ranks, not scores, so that neither has a tie to break.
    ``ignore_identical_ids`` drops a document whose id is the query's before ranks are counted, as BEIR does.
    Raises UsageError for an unknown measure, DataError if no query of the run is judged.
    """
    measures_by_name = {text: parse_measure(text) for text in measures}
    missing, ignored = coverage(run, qrels)
    queries = sorted(qrels)
    by_measure: dict[str, list[float]] = {text: [] for text in measures_by_name}
    with many_objects():
        for first in range(0, len(queries), QUERIES):
            block = queries[first : first + QUERIES]
            # pytrec_eval counts grades into an array: below zero they would be written outside it
            grades = {q: {d: max(grade, 0) for d, grade in qrels[q].items()} for q in block}
            rankings = {q: _documents(run[q], q if ignore_identical_ids else None) for q in block if q in run}
            scores = _trec_scores(set(measures_by_name.values()), grades, rankings)
            for text, measure in measures_by_name.items():
                by_measure[text] += [scores[measure][q] for q in block]
    return Scores(queries, by_measure, missing, ignored)


def _documents(ranking: Sequence[tuple[str, float]], ignored_id: str | None) -> list[str]:
    return [document for document, _ in ranking if document != ignored_id]


def coverage(run: Mapping[str, object], judged: Mapping[str, object]) -> tuple[list[str], int]:
    """Judged queries absent from the run, sorted, and how many of the run's queries are not judged.

    Raises DataError when they share no query: then a score of 0 would hide a wrong file.
    """
    if not judged:
        raise DataError("there are no judgements to score the run with")
    ignored = sum(qid not in judged for qid in run)
    if ignored == len(run):
        problem = f"none of the run's {len(run)} queries is among the {len(judged)} judged ones"
        raise DataError(f"{problem}; check that run and judgements belong to the same queries")
    return sorted(qid for qid in judged if qid not in run), ignored


def by_rank(documents: Sequence[str]) -> dict[str, float]:
    """Whole-number scores K, K-1, …, 1 in the order given: the same ranking for every reader."""
    return dict(zip(documents, map(float, range(len(documents), 0, -1)), strict=True))


def _trec_scores(measures, qrels, documents) -> dict[Measure, dict[str, float]]:
    """Scores of all queries of ``qrels``; ir_measures fills in 0 for those not in ``documents``.

    Each scorer sees a ranking down to the last relevant document within its measures' largest cut-off: what
    follows changes none of them, and is most of a run.
    """
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

    level = {} if measure.name == "nDCG" else {"rel": measure.rel}
    return getattr(ir_measures, measure.name)(**level) @ measure.cutoff


def _to_last_hit(documents: list[str], grades: Mapping[str, int]) -> list[str]:
    """The ranking down to its last relevant document; its first one alone where there is none."""
    hits = {document for document, grade in grades.items() if grade > 0}.intersection(documents)
    return documents[: max((documents.index(hit) + 1 for hit in hits), default=1)]
