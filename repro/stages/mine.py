"""Stage ``mine``: hard negatives from a run over training queries."""

import zlib
from pathlib import Path

import numpy as np

from repro.datasets.arrow import IdColumn, read_rows
from repro.errors import DataError, UsageError
from repro.evaluation.qrels import read_qrels, relevant_documents
from repro.evaluation.rankings import rankings
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write a training set: for each query with a positive, ``per_query`` of the run's top passages as
    negatives.

    The positives of the judgements (grade 1 and above) are removed from the ranking, its first ``depth``
    entries kept, shuffled, and the first ``per_query`` taken. The shuffle depends on the seed and the query's
    id, so that a query's negatives do not depend on which others there are. Rows are in the run's order of
    queries.

    With ``random_added``, the negatives are filled up to ``per_query`` + ``random_added`` with passages drawn
    from the input ``corpus``, and shuffled again; a query whose ranking gives fewer gets more random ones.

    Raises:
        UsageError: random passages are asked for without a corpus.
        DataError: run or judgements are malformed, or share no query.
    """
    from datasets import Dataset, Features, Sequence, Value

    positives = relevant_documents(read_qrels(inputs["qrels"] / "qrels.trec"))
    limits = {name: params[name] for name in ("depth", "per_query", "seed")}
    filled = params["per_query"] + params.get("random_added", 0)
    ids = _ids(inputs) if params.get("random_added") else None
    rows = {"query": [], "positives": [], "negatives": []}
    unjudged = 0
    with progress.task("mining", total=len(positives)) as advance:
        for query, ranking, _ in rankings(inputs["run"] / "run.trec"):
            if not positives.get(query):
                unjudged += 1
                continue
            rows["query"].append(query)
            rows["positives"].append(positives[query])
            mined = negatives(query, ranking, positives[query], **limits)
            if ids is not None:
                known = {*ranking, *positives[query]}
                mined = with_random(query, mined, known, ids, count=filled, seed=params["seed"])
            rows["negatives"].append(mined)
            advance(1)
    if not rows["query"]:
        raise DataError(f"{inputs['run']}: no query of the run has a positive in {inputs['qrels']}")
    texts = Sequence(Value("string"))
    features = Features({"query": Value("string"), "positives": texts, "negatives": texts})
    Dataset.from_dict(rows, features=features).save_to_disk(str(out / "arrow"))
    few = sum(len(mined) < filled for mined in rows["negatives"])
    missing = sum(map(bool, positives.values())) - len(rows["query"])
    return {
        "queries": len(rows["query"]),
        "queries_with_fewer_negatives": few,
        "queries_not_in_run": missing,
        "queries_without_positive": unjudged,
    }


def negatives(
    query: str, ranking: list[str], positives: list[str], *, depth: int, per_query: int, seed: int
) -> list[str]:
    """``per_query`` of the first ``depth`` documents of a ranking that are no positives, in random order."""
    known = set(positives)
    candidates = [document for document in ranking if document not in known][:depth]
    return sample(candidates, query, count=per_query, seed=seed)


def sample(candidates: list[str], query: str, *, count: int, seed: int) -> list[str]:
    """``count`` of the candidates in random order, which depends on the seed and the query's id alone."""
    order = np.random.default_rng((seed, zlib.crc32(query.encode()))).permutation(len(candidates))
    return [candidates[place] for place in order[:count]]


def with_random(
    query: str, chosen: list[str], known: set[str], ids: list[str] | IdColumn, *, count: int, seed: int
) -> list[str]:
    """Fill ``chosen`` up to ``count`` with random documents that are not ``known``, in random order.

    None is drawn twice; where the collection has too few, all that are left are taken.
    """
    generator = np.random.default_rng((seed, zlib.crc32(query.encode()), 1))
    documents, taken = list(chosen), known.copy()
    left = len(ids) - len(known)
    while len(documents) < min(count, len(chosen) + left):
        document = ids[int(generator.integers(len(ids)))]
        if document not in taken:
            taken.add(document)
            documents.append(document)
    return [documents[place] for place in generator.permutation(len(documents))]


def _ids(inputs: dict[str, Path]) -> IdColumn:
    if "corpus" not in inputs:
        raise UsageError("random negatives are drawn from a corpus, and none is given")
    return IdColumn(read_rows(inputs["corpus"]))
