"""Stage ``mine``: hard negatives from a run over training queries."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.machine.shard import own_blocks, shard
from repro.progress import Progress
from repro.retrieval.datasets.arrow import EXAMPLES, ColumnTexts, RowBlocks, in_batches, read_rows
from repro.retrieval.evaluation import run_writer, text_lines
from repro.store.disk import BLOCKS

Result = tuple[str, list[str], list[float]]  # query, documents and scores
Rows = Callable[[Iterator[Result], dict[str, int]], Iterable[dict]]
BLOCK = 1 << 26  # bytes of the run per block
COUNTS = ("queries", "queries_with_fewer_negatives", "queries_not_in_run", "queries_without_positive")


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write a training set with ``per_query`` hard negatives from a run, for each query with a positive.

    Positives (grade 1 and above) are removed from the ranking. Its first ``depth`` entries are shuffled, by
    the seed and the query's id only, and the first ``per_query`` are kept, e.g. 7 of the top 200.
    ``random_added`` random passages of ``corpus`` are added and shuffled in.
    """
    positives = text_lines.relevant_documents(text_lines.read_qrels(inputs["qrels"] / "qrels.trec"))
    ids = ColumnTexts(read_rows(inputs["corpus"]), "id") if params.get("random_added") else None
    blocks = RowBlocks(out / BLOCKS, EXAMPLES)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        rows = partial(_rows, params=params, positives=positives, ids=ids)
        with progress.task("mining", total=len(positives)) as advance:
            run = inputs["run"] / "run.trec"
            firsts, facts = fill_blocks(blocks, run, BLOCK, rows, counts=COUNTS, advance=advance)
        if not shard().whole:
            return {}
        if not facts["queries"]:
            raise DataError(f"{inputs['run']}: no query of the run has a positive in {inputs['qrels']}")
        facts["queries_not_in_run"] = sum(map(bool, positives.values())) - facts["queries"]
        blocks.complete(firsts, facts)
    if shard().whole:
        blocks.join(out / "arrow")
    return facts


def _rows(results, facts: dict, *, params: dict, positives: dict[str, list[str]], ids) -> Iterator[dict]:
    limits = {name: params[name] for name in ("depth", "per_query", "seed")}
    target = params["per_query"] + params.get("random_added", 0)
    for query, ranking, _ in results:
        if not positives.get(query):
            facts["queries_without_positive"] += 1
            continue
        passages = negatives(query, ranking, positives[query], **limits)
        if ids is not None:
            documents = {*ranking, *positives[query]}
            passages = with_random(query, passages, documents, ids, count=target, seed=params["seed"])
        facts["queries"] += 1
        facts["queries_with_fewer_negatives"] += len(passages) < target
        yield {"query": query, "positives": positives[query], "negatives": passages}


def negatives(
    query: str, ranking: list[str], positives: list[str], *, depth: int, per_query: int, seed: int
) -> list[str]:
    """Return up to ``per_query`` random documents of the first ``depth`` that are not positives."""
    relevant = set(positives)
    candidates = [document for document in ranking if document not in relevant][:depth]
    return sample(candidates, query, count=per_query, seed=seed)


def sample(candidates: list[str], query: str, *, count: int, seed: int) -> list[str]:
    """Return up to ``count`` candidates in a random order that depends on seed and query id only."""
    order = np.random.default_rng((seed, zlib.crc32(query.encode()))).permutation(len(candidates))
    return [candidates[place] for place in order[:count]]


def with_random(
    query: str, chosen: list[str], known: set[str], ids: list[str] | ColumnTexts, *, count: int, seed: int
) -> list[str]:
    """Return ``chosen`` and random ``ids`` not in ``known``, ``count`` if there are enough, shuffled."""
    generator = np.random.default_rng((seed, zlib.crc32(query.encode()), 1))
    documents, used = list(chosen), known.copy()
    available = len(ids) - len(known)
    while len(documents) < min(count, len(chosen) + available):
        document = ids[int(generator.integers(len(ids)))]
        if document not in used:
            used.add(document)
            documents.append(document)
    return [documents[place] for place in generator.permutation(len(documents))]


def fill_blocks(
    blocks: RowBlocks,
    run: Path,
    size: int,
    rows: Rows,
    *,
    counts: Sequence[str],
    advance: Callable[[int], None],
) -> tuple[range, dict[str, int]]:
    """Write this shard's missing blocks of rows, each made from ``size`` bytes of the run.

    ``rows(results, facts)`` makes rows from (query, documents, scores), and counts in ``facts``. Returns the
    offsets of all blocks, and total ``counts``. Raises DataError for a query in two blocks.
    """
    firsts = run_writer.parts(run, size)
    totals = Counter(dict.fromkeys(counts, 0))
    seen: set[str] = set()
    for first in own_blocks(firsts):
        if (facts := blocks.kept(first)) is None:
            facts = {"of_run": [], **dict.fromkeys(counts, 0)}
            results = _note_queries(run_writer.rankings(run, first, first + size), facts["of_run"])
            blocks.write(first, in_batches(rows(results, facts), blocks.features), facts)
        queries = facts.pop("of_run")
        if duplicate := next((query for query in queries if query in seen), None):
            raise run_writer.scattered_query_error(run, duplicate)
        seen.update(queries)
        totals.update(facts)
        advance(len(queries))
    return firsts, dict(totals)


def _note_queries(results: Iterator[tuple], queries: list[str]) -> Iterator[tuple]:
    for result in results:
        queries.append(result[0])
        yield result
