"""Measures named as in ir_measures, and per-query scores under them.

Importing this module loads no scorer: :func:`parse_measure` is also what a plan checks names with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from repro.errors import DataError, UsageError, unknown

if TYPE_CHECKING:
    from repro.retrieval.evaluation.runs import Run
    from repro.retrieval.evaluation.text_lines import Qrels


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
    from repro.retrieval.evaluation.text_lines import many_objects

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
    """Return scores of all queries of ``qrels``; ir_measures fills in 0 for those not in ``documents``.

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
    """Return the ranking down to its last relevant document; its first one alone where there is none."""
    hits = {document for document, grade in grades.items() if grade > 0}.intersection(documents)
    return documents[: max((documents.index(hit) + 1 for hit in hits), default=1)]


_NAMES = {  # as trec_eval, ranx, BEIR, MTEB and sentence-transformers write them, in lower case
    name: measure
    for measure, names in {
        "nDCG": "ndcg ndcg_cut",
        "nDCG(dcg='exp-log2')": "ndcg_burges",
        "AP": "ap map map_cut",
        "RR": "rr mrr recip_rank",
        "R": "r recall",
        "R_cap": "r_cap recall_cap",
        "P": "p precision",
        "Success": "success hit_rate",
        "Rprec": "rprec r-precision",
        "Bpref": "bpref",
        "infAP": "infap",
        "IPrec": "iprec_at_recall",
        "SetP": "set_p",
        "SetR": "set_recall",
        "SetF": "set_f",
        "SetAP": "set_map",
        "Judged": "judged",
        "ERR": "err",
        "NumRet": "num_ret",
        "NumRel": "num_rel",
        "NumRet(rel=1)": "num_rel_ret",
    }.items()
    for name in names.split()
}
_NAME_FORM = re.compile(r"([A-Za-z][\w-]*?)(\(.*\))?(?:(?:@|_at_|_|\.)([0-9.]+))?")
_CAPPED = re.compile(r"R_cap(?:\(rel=([1-9][0-9]*)\))?@([1-9][0-9]*)")
_EXAMPLES = (
    *("nDCG@10", "RR@10", "R(rel=2)@1000", "AP", "P@10", "Success@5", "R_cap@100", "Judged@10"),
    *("nDCG(dcg='exp-log2')@10", "nDCG(judged_only=True)@10"),
)
_LARGEST_GRADE = 20  # whose exponential gain trec_eval can count


def canonical(name: str) -> str:
    """Return the name of a measure as ir_measures writes it; capped recall, which it lacks, is ``R_cap@k``.

    Raises UsageError for a measure that is not known, or that nothing at hand computes.
    """
    match = _NAME_FORM.fullmatch(name.strip())
    if match is None:
        raise unknown("measure", name, _EXAMPLES)
    family, settings, cutoff = match.groups(default="")
    text = _NAMES.get(family.lower(), family) + settings + f"@{cutoff}" * bool(cutoff)
    if _CAPPED.fullmatch(text):
        return text
    return str(parse_measure(text)) if _is_suites(text) else str(_parsed(text, name))


def cutoff(name: str) -> int | None:
    """Return how many ranks a measure looks at; None where it looks at all."""
    match = re.search(r"@([1-9][0-9]*)$", canonical(name))
    return int(match[1]) if match else None


def looks_deeper(name: str, depth: float) -> bool:
    """Return whether a measure looks at ranks below those of a run of this depth."""
    return (cutoff(name) or 0) > depth


def scores_by_query(names: Sequence[str], qrels: Qrels, rankings: Run) -> dict[str, dict[str, float]]:
    """Return the scores of every judged query by each measure; one without a ranking has 0.

    Raises UsageError for an unknown measure, DataError where the run answers no judged query, or where by
    the judgements every run would score 0.
    """
    by_name = {name: canonical(name) for name in names}
    own_names = list(filter(_is_suites, by_name.values()))
    check_grades(qrels, own_names)
    own_scores = score(rankings, qrels, own_names, ignore_identical_ids=False)
    found = {
        name: dict(zip(own_scores.queries, own_scores.measures[name], strict=True)) for name in own_names
    }
    found |= {name: _other_scores(name, qrels, rankings) for name in {*by_name.values()} - found.keys()}
    return {name: found[by_name[name]] for name in names}


def _is_suites(name: str) -> bool:
    try:
        return bool(parse_measure(name))
    except UsageError:
        return False


def _other_scores(name: str, qrels: Qrels, rankings: Run) -> dict[str, float]:
    """Return the scores by a measure that is none of the suite's."""
    from repro.retrieval.evaluation.runs import document_ids

    check_grades(qrels, _same_level(name))
    capped = _CAPPED.fullmatch(name)
    queries = sorted(qrels)
    scores: dict[str, float] = {}
    for first in range(0, len(queries), QUERIES):
        block = {query: qrels[query] for query in queries[first : first + QUERIES]}
        ids = {query: document_ids(rankings[query]) for query in block if rankings.get(query)}
        scores |= dict.fromkeys(block, 0.0) | (
            _capped_recalls(block, ids, rel=int(capped[1] or 1), ranks=int(capped[2]))
            if capped
            else _scores_of_block(name, block, ids)
        )
    return scores


def _same_level(name: str) -> list[str]:
    """Return a measure of the suite that counts the same grades as relevant."""
    level = re.search(r"\brel=([0-9]+)", name)
    return [f"R(rel={level[1]})@1"] if level else []


def _scores_of_block(name: str, qrels: Qrels, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the scores of the queries that have documents, best first."""
    import ir_measures

    measure = _parsed(name, name)
    params = dict(measure.params)
    if params.pop("judged_only", False):
        ids = {query: list(filter(qrels[query].__contains__, ranking)) for query, ranking in ids.items()}
    gain = _gain if params.pop("dcg", None) == "exp-log2" else int
    grades = {query: {d: gain(max(grade, 0)) for d, grade in of.items()} for query, of in qrels.items()}
    ranks = {query: by_rank(ranking) for query, ranking in ids.items() if ranking}
    metrics = ir_measures.iter_calc([type(measure)(**params)], grades, ranks)
    return {metric.query_id: float(metric.value) for metric in metrics}


def _capped_recalls(
    qrels: Qrels, ids: Mapping[str, Sequence[str]], *, rel: int, ranks: int
) -> dict[str, float]:
    """Return recall by as many relevant documents as the ranks have room for, as BEIR's ``recall_cap``."""
    scores = {}
    for query, ranking in ids.items():
        relevant = {document for document, grade in qrels[query].items() if grade >= rel}
        scores[query] = len(relevant.intersection(ranking[:ranks])) / max(min(len(relevant), ranks), 1)
    return scores


def _gain(grade: int) -> int:
    if grade > _LARGEST_GRADE:
        raise DataError(f"grade {grade} is too large for the exponential gain; name nDCG with its grades")
    return 2**grade - 1


def _parsed(text: str, name: str):
    """Return the measure of ir_measures that a text means; ``name`` is what the user calls it."""
    import ir_measures
    from ir_measures.providers import registry

    try:
        measure = ir_measures.parse_measure(text)
        base = type(measure)(**{k: v for k, v in measure.params.items() if k != "judged_only"})
        is_computed = any(p.is_available() and p.supports(base) for p in registry.values())
        is_known = measure.params.get("cutoff") != 0
    except (ValueError, NameError, AssertionError, TypeError, KeyError):
        is_known = False
    if not is_known:
        hint = "and what else ir_measures knows, with a cut-off from 1 where it has one"
        raise unknown("measure", name, _EXAMPLES, hint=hint)
    if not is_computed:
        raise UsageError(f"{name} is known to ir_measures, and nothing that is installed computes it")
    return measure
