"""Stage ``mine_answers``: training questions, with positives found by answer strings."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import filterfalse
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets import arrow
from repro.retrieval.evaluation.answers import contains_answer, read_answers
from repro.retrieval.evaluation.text_lines import read_qrels
from repro.retrieval.stages.mine import fill_blocks, sample
from repro.store.disk import BLOCKS

BLOCK = 1 << 24  # bytes of the run per block
COUNTS = ("queries", "queries_left_out", "queries_not_judged")

FIRST_SCORE = 1000.0  # above every score of a retriever


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write a training set of questions from a run: passages with an answer are positives, others negatives.

    The first positive is the passage judged best, with score 1,000. With ``extra_positives`` those of the
    first ``depth`` with an answer follow. Otherwise the first of them replaces a missing judged passage. Up
    to ``per_query`` random passages without an answer are negatives. A question without positive or negative
    is left out. Source: the mining script of Wang et al. 2023, readings ``nq-training-data`` and
    ``nq-mined-score-decimals``.
    """
    answers = read_answers(inputs["queries"] / "queries.jsonl")
    judgements = read_qrels(inputs["qrels"] / "qrels.trec")
    source = inputs["run"] / "run.trec"
    blocks = arrow.RowBlocks(out / BLOCKS, arrow.SCORED_EXAMPLES)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        rows = partial(_examples, params=params, inputs=inputs, answers=answers, judgements=judgements)
        with progress.task("matching answers", total=len(answers)) as advance:
            firsts, facts = fill_blocks(blocks, source, BLOCK, rows, counts=COUNTS, advance=advance)
        if not facts["queries"]:
            raise DataError(f"{source}: no question has both a positive and a negative")
        blocks.complete(firsts, facts)
    blocks.join(out / "arrow")
    return facts


def _examples(
    results, facts: dict, *, params: dict, inputs: dict[str, Path], answers, judgements
) -> Iterator[dict]:
    source, top = inputs["run"] / "run.trec", slice(params["depth"])
    results = [(query, documents[top], scores[top]) for query, documents, scores in results]
    ids = sorted({document for _, documents, _ in results for document in documents})
    texts = arrow.passages(ids, inputs["corpus"], source=source)
    has_answer = partial(contains_answer, tokenless=params.get("tokenless_answers", False))
    options = {name: params[name] for name in ("extra_positives", "per_query", "seed")}
    for query, documents, scores in results:
        best = annotated(judgements.get(query, {}))
        scores = rounded(scores, decimals=params.get("score_decimals", ()))
        facts["queries_not_judged"] += best is None
        hits = [has_answer(texts[document]["text"], answers[query]) for document in documents]
        row = example(query, documents, scores, hits, best=best, **options)
        facts["queries"] += row is not None
        facts["queries_left_out"] += row is None
        if row is not None:
            yield row


def annotated(grades: dict[str, int]) -> str | None:
    """Return the document with the highest grade, or None without a grade above 0."""
    best = max(grades, key=grades.__getitem__, default=None)
    return best if best is not None and grades[best] >= 1 else None


def rounded(scores: list[float], *, decimals: Sequence[int]) -> list[float]:
    for places in decimals:
        scores = [round(float(score), places) for score in scores]
    return scores


def example(
    query: str,
    documents: list[str],
    scores: list[float],
    hits: list[bool],
    *,
    best: str | None,
    extra_positives: bool,
    per_query: int,
    seed: int,
) -> dict | None:
    """Return a row of the training set, or None without a positive or a negative.

    ``hits`` marks documents with an answer, ``best`` is the document judged best, if any.
    """
    score = dict(zip(documents, scores, strict=True))
    is_hit = dict(zip(documents, hits, strict=True))
    ranking = [document for document in documents if document != best]
    positives = list(filter(is_hit.get, ranking))
    if best:
        positives.insert(0, best)
        score[best] = FIRST_SCORE
    candidates = list(filterfalse(is_hit.get, ranking))
    positives = positives if extra_positives else positives[:1]
    negatives = sample(candidates, query, count=per_query, seed=seed)
    if not positives or not negatives:
        return None
    return {
        "query": query,
        "positives": positives,
        "negatives": negatives,
        "positive_scores": list(map(score.get, positives)),
        "negative_scores": list(map(score.get, negatives)),
    }
