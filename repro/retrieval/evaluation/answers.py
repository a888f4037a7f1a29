"""Scores success by answer strings: a passage is relevant if its text contains an answer.

The rule is that of DPR's released evaluation: texts are decomposed (NFD), cut into tokens and lower-cased.
An answer's tokens must be consecutive, e.g. "new york" in "in New York,".
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from repro.errors import DataError, UsageError
from repro.retrieval.evaluation.measures import Measure, Scores, coverage, parse_measure
from repro.retrieval.evaluation.text_lines import numbered_lines


@cache
def _token():
    import regex

    return regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


def tokens(text: str) -> list[str]:
    """Return tokens, lower-cased one by one, because lower-case sigma depends on its neighbours."""
    return [match.group().lower() for match in _token().finditer(unicodedata.normalize("NFD", text))]


def contains_answer(text: str, answers: Iterable[str], *, tokenless: bool = False) -> bool:
    """Return whether a text contains an answer. ``tokenless`` finds answers without tokens in any text."""
    # tokens have no spaces, so that joined ones are found
    passage = f" {' '.join(tokens(text))} "
    answer_tokens = (tokens(answer) for answer in answers)
    return any(f" {' '.join(answer)} " in passage if answer else tokenless for answer in answer_tokens)


def answer_measures(measures: Sequence[str]) -> dict[str, Measure]:
    """Return the measures for answers by name, e.g. ``Success@20``. Raises UsageError for others."""
    by_name = {text: parse_measure(text) for text in measures}
    for text, measure in by_name.items():
        if measure.name != "Success" or measure.rel != 1:
            raise UsageError(f"{text} is not defined for answers. Use Success@k, e.g. Success@20.")
    return by_name


def score_by_answers(
    run: Mapping[str, Sequence[tuple[str, float]]],
    answers: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    measures: Sequence[str],
    *,
    tokenless: bool = False,
) -> Scores:
    """Return Success@k of a run for questions ``{qid: [answer, …]}``.

    ``texts`` has every document in the first k ranks. Raises UsageError for another measure, DataError if no
    query of the run has answers.
    """
    by_name = answer_measures(measures)
    depth = max((measure.cutoff for measure in by_name.values()), default=0)
    missing, ignored = coverage(run, answers)
    queries = sorted(answers)
    tops = [[document for document, _ in run.get(qid, ())[:depth]] for qid in queries]
    has_answer = partial(contains_answer, tokenless=tokenless)
    first_ranks = [
        next((rank for rank, d in enumerate(top, 1) if has_answer(texts[d], answers[qid])), None)
        for qid, top in zip(queries, tops, strict=True)
    ]
    scores = {
        text: [float(rank is not None and rank <= measure.cutoff) for rank in first_ranks]
        for text, measure in by_name.items()
    }
    return Scores(queries, scores, missing, ignored)


def read_answers(path: Path) -> dict[str, list[str]]:
    """Return the answers in an artefact's ``queries.jsonl`` by query id. Raises DataError if malformed."""
    try:
        queries = [json.loads(line) for _, line in numbered_lines(path)]
        return {query["id"]: query["answers"] for query in queries}
    except (ValueError, TypeError, KeyError):
        raise DataError(f"{path}: not lines of JSON with id and answers") from None
