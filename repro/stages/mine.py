"""Stage ``mine``: hard negatives from a run over training queries."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.evaluation.qrels import read_qrels
from repro.evaluation.text_lines import numbered_lines
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write a training set: for each query with a positive, ``per_query`` of the run's top passages as
    negatives.

    The positives of the judgements (grade 1 and above) are removed from the ranking, its first ``depth``
    entries kept, shuffled, and the first ``per_query`` taken. The shuffle depends on the seed and the query's
    id, so that a query's negatives do not depend on which others there are. Rows are in the run's order of
    queries.

    Raises:
        DataError: run or judgements are malformed, or share no query.
    """
    from datasets import Dataset, Features, Sequence, Value

    positives = {
        query: sorted(document for document, grade in judged.items() if grade >= 1)
        for query, judged in read_qrels(inputs["qrels"] / "qrels.trec").items()
    }
    rows = {"query": [], "positives": [], "negatives": []}
    unjudged = 0
    with progress.task("mining", total=len(positives)) as advance:
        for query, ranking in _rankings(inputs["run"] / "run.trec"):
            if not positives.get(query):
                unjudged += 1
                continue
            rows["query"].append(query)
            rows["positives"].append(positives[query])
            rows["negatives"].append(negatives(query, ranking, positives[query], **params))
            advance(1)
    if not rows["query"]:
        raise DataError(f"{inputs['run']}: no query of the run has a positive in {inputs['qrels']}")
    texts = Sequence(Value("string"))
    features = Features({"query": Value("string"), "positives": texts, "negatives": texts})
    Dataset.from_dict(rows, features=features).save_to_disk(str(out / "arrow"))
    few = sum(len(found) < params["per_query"] for found in rows["negatives"])
    missing = sum(bool(found) for found in positives.values()) - len(rows["query"])
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
    generator = np.random.default_rng((seed, zlib.crc32(query.encode())))
    return [candidates[place] for place in generator.permutation(len(candidates))[:per_query]]


def _rankings(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Query by query, without the whole run in memory: at full scale it has a hundred million lines."""
    seen: set[str] = set()
    fields = ((number, line.split()) for number, line in numbered_lines(path))
    for query, lines in groupby(fields, key=lambda entry: entry[1][0] if entry[1] else ""):
        if query in seen:
            raise DataError(f"{path}: the lines of query {query!r} do not stand together")
        seen.add(query)
        ranking = []
        for number, line in lines:
            if len(line) != 6 or line[3] != str(len(ranking) + 1):
                raise DataError(f"{path}:{number}: not line {len(ranking) + 1} of the ranking of {query!r}")
            ranking.append(line[2])
        yield query, ranking
