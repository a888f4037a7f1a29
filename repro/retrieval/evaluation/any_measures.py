"""Measures for judgements and runs of one's own: all that ir_measures can give, by any name that is common.

What the suite itself scores by goes through ``measures`` here too; the others are computed of the same ranks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro.errors import DataError, UsageError, unknown
from repro.retrieval.evaluation.measures import QUERIES, by_rank, check_grades, parse_measure, score
from repro.retrieval.evaluation.qrels import Qrels

if TYPE_CHECKING:
    from repro.retrieval.evaluation.run_columns import Run

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
_FORM = re.compile(r"([A-Za-z][\w-]*?)(\(.*\))?(?:(?:@|_at_|_|\.)([0-9.]+))?")
_CAPPED = re.compile(r"R_cap(?:\(rel=([1-9][0-9]*)\))?@([1-9][0-9]*)")
_EXAMPLES = ("nDCG@10", "RR@10", "R(rel=2)@1000", "AP", "P@10", "Success@5", "R_cap@100", "Judged@10")
_EXAMPLES += ("nDCG(dcg='exp-log2')@10", "nDCG(judged_only=True)@10")
_LARGEST_GRADE = 20  # whose exponential gain trec_eval can count


def canonical(name: str) -> str:
    """Return the name of a measure as ir_measures writes it; capped recall, which it lacks, is ``R_cap@k``.

    Raises UsageError for a measure that is not known, or that nothing at hand computes.
    """
    match = _FORM.fullmatch(name.strip())
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
    from repro.retrieval.evaluation.run_columns import document_ids

    check_grades(qrels, _same_level(name))
    calculate = _capped_recalls if _CAPPED.fullmatch(name) else _scores_of_block
    queries, scores = sorted(qrels), {}
    for first in range(0, len(queries), QUERIES):
        block = {query: qrels[query] for query in queries[first : first + QUERIES]}
        ids = {query: document_ids(rankings[query]) for query in block if rankings.get(query)}
        scores |= dict.fromkeys(block, 0.0) | calculate(name, block, ids)
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


def _capped_recalls(name: str, qrels: Qrels, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return recall by as many relevant documents as the ranks have room for, as BEIR's ``recall_cap``."""
    rel, ranks = (int(number or 1) for number in _CAPPED.fullmatch(name).groups())
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
