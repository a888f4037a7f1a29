"""Stage ``search``: exact inner-product search."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError, UsageError
from repro.machine.shard import shard, share
from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.stages.vectors.final_scores import (
    among_all,
    error_bounds,
    greatest_scores,
    may_lack,
    rescore,
)
from repro.retrieval.stages.vectors.pairs import Pairs
from repro.retrieval.stages.vectors.run_blocks import Advance, RunBlocks, in_shares
from repro.retrieval.stages.vectors.search_memory import VARIABLE, search_memory
from repro.retrieval.stages.vectors.vector_files import IdFile, VectorFile, read_embeddings

BLOCK_BYTES = 1 << 30  # of vectors; more at once is not faster
SPARE = 100  # passages beyond the depth, so that few queries need a look at all passages
BLOCK = 65_536  # queries searched together, and lost at most when interrupted
QUERIES = 4096  # that faiss multiplies at a time
MERGED = 64  # queries at a time, so that what merging needs is small
GPU_DEPTH = 2048  # the deepest search of faiss on a GPU


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by inner product.

    faiss' exact search of one block of passages after another, on the GPU where faiss has one, within
    ``search_memory``: that bounds queries, their rankings and the block; interpreter, libraries
    (some 50 MB), and 8 bytes a passage for ids come on top. Vectors are read from disk for 65,536 queries
    together: ten searches for a hundred queries take six times as long as one for a thousand. Only when
    these and their rankings alone would take more than half of the memory do they come in smaller blocks,
    each of which reads all vectors again. What was found for 65,536 is kept with its digest in ``blocks/``
    until the store seals the run, so that an interrupted attempt goes on behind it; shards take some each.

    faiss only finds candidates, 100 beyond the depth. They are read once more, scored in a fixed way (see
    ``final_scores``), and cut and ordered by that, so that the run has the same bytes on a GPU and a CPU, on
    any number of threads and in any memory. A query that may lack a passage, because more than those 100 are
    as good as the last one within the error of float32, is held against all passages once more.

    Among equal scores the greater id comes first, at the depth's edge too.

    Raises:
        UsageError: the memory that was stated is no size, or too small.
        DataError: embeddings are of different sizes, or their ids are not as many as their vectors.
        StageError: a vector or a score is not finite.
    """
    passages, documents = read_embeddings(inputs["passages"])
    queries, topics = read_embeddings(inputs["queries"])
    if passages.shape[1] != queries.shape[1]:
        raise DataError(f"passages have {passages.shape[1]} dimensions, queries {queries.shape[1]}")
    blocks, memory, depth = RunBlocks(out, len(queries), BLOCK), search_memory(), params["depth"]
    with progress.task("searching", total=share(len(queries), BLOCK)) as advance:

        def search(first: int, end: int) -> Pairs:
            rows = range(first, end)
            candidates = best(passages, queries, rows, depth=depth + SPARE, memory=memory, advance=advance)
            return Pairs.joined(list(_rank_candidates(passages, documents, candidates, depth)))

        resumed_at = blocks.fill(search, advance)
    if not shard().whole:
        return {}
    facts = write_run(out, blocks.ranked(topics, documents), tag="dense")
    return facts | ({"resumed_at": resumed_at} if resumed_at else {})


def best(
    passages: VectorFile, queries: VectorFile, some: range, *, depth: int, memory: int, advance: Advance
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """The greatest inner products of some queries, in descending order, for as many at a time as fit.

    Args:
        passages: (N, H).
        queries: (Q, H).
        some: the rows of those queries.
        depth: K, cut to N.
        memory: in bytes.

    Yields:
        the first of them, counted from the first of ``some``, their vectors (B, H), scores (B, K) float32,
        and rows of ``passages`` (B, K) int64; the arrays are used again for the next ones.

    Raises:
        UsageError: the memory does not hold a query and a passage.
        StageError: a vector or a score is not finite.
    """
    depth = min(depth, len(passages))
    per_block, step = block_sizes(memory, queries=len(some), depth=depth, size=passages.shape[1])
    step, search = max(1, min(step, len(passages))), _faiss(depth)
    query_buffer, passage_buffer = (np.empty((n, passages.shape[1]), np.float32) for n in (per_block, step))
    scores, rows = np.empty((per_block, depth), np.float32), np.empty((per_block, depth), np.int64)
    for start in some[::per_block]:
        block = _read(queries, start, min(start + per_block, some.stop), buffer=query_buffer)
        best_scores, best_rows = scores[: len(block)], rows[: len(block)]
        best_scores[:] = -np.inf
        report = in_shares(advance, len(block), len(passages))
        for first in range(0, len(passages), step):
            vectors = _read(passages, first, min(first + step, len(passages)), buffer=passage_buffer)
            _merge(best_scores, best_rows, *search(block, vectors, min(depth, len(vectors))), first)
            report(first + len(vectors))
        yield start - some.start, block, best_scores, best_rows


def _read(file: VectorFile, first: int, end: int, buffer: np.ndarray) -> np.ndarray:
    """Read rows. Raises StageError where one is not finite, which faiss would silently pass over."""
    vectors = file.read(first, end, into=buffer)
    if not np.isfinite([vectors.min(), vectors.max()]).all():  # nan is both
        raise StageError(f"{file.path}: a vector among rows {first} to {end} is not finite; encode again")
    return vectors


def block_sizes(memory: int, *, queries: int, depth: int, size: int) -> tuple[int, int]:
    """Numbers of queries and of passages that are multiplied at a time within ``memory`` bytes.

    A query takes its vector, and for each rank 12 bytes of its ranking, and 12 of the block's or later 20 of
    the second scoring; of 4,096 queries at a time faiss holds twice the depth as candidates.

    Raises:
        UsageError: the memory does not hold a query and a passage.
    """
    per_query, candidates = 4 * size + 32 * depth, 24 * depth
    per_block = memory // 2 // (per_query + candidates)
    if per_block < 1:
        least = 2 * (per_query + candidates)
        raise UsageError(f"{memory} bytes do not hold one query; set {VARIABLE} to at least {least}")
    if per_block > QUERIES:
        per_block = (memory // 2 - QUERIES * candidates) // per_query
    per_block = min(per_block, max(1, queries))
    room = memory - per_block * per_query - min(per_block, QUERIES) * candidates
    return per_block, min(room, BLOCK_BYTES) // (4 * size)


def _faiss(depth: int) -> Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]:
    """The search of faiss over arrays, without an index that copies them; on a GPU if there is one to use."""
    import faiss

    if hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() and depth <= GPU_DEPTH:
        resources = faiss.StandardGpuResources()
        return lambda *arrays: faiss.knn_gpu(resources, *arrays, metric=faiss.METRIC_INNER_PRODUCT)
    return lambda *arrays: faiss.knn(*arrays, metric=faiss.METRIC_INNER_PRODUCT)


def _merge(
    scores: np.ndarray, rows: np.ndarray, products: np.ndarray, places: np.ndarray, first: int
) -> None:
    """Merge a block's best products and their places, (B, at most K), into ``scores`` and ``rows``, (B, K).

    The block begins at row ``first`` of the passages. Of equal scores the earlier stays.
    """
    if (places < 0).any() or not np.isfinite(products).all():  # -1 is what faiss puts where it sees nan
        raise StageError("a score is not finite: the embeddings hold a vector that is not")
    places += first
    for start in range(0, len(scores), MERGED):
        some = slice(start, start + MERGED)
        merged = np.hstack((scores[some], products[some]))
        order = np.argsort(-merged, axis=1, kind="stable")[:, : scores.shape[1]]
        scores[some] = np.take_along_axis(merged, order, axis=1)
        rows[some] = np.take_along_axis(np.hstack((rows[some], places[some])), order, axis=1)


def _rank_candidates(
    passages: VectorFile,
    documents: IdFile,
    blocks: Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]],
    depth: int,
) -> Iterator[Pairs]:
    """Yield the ``depth`` best passages of each block's queries with their final scores, in no order."""
    for start, queries, products, rows in blocks:
        scores, longest = rescore(passages, queries, rows)
        if rows.shape[1] < len(passages):
            errors = error_bounds(queries, longest)
            unsure = may_lack(products, scores, errors, depth)
            edges = np.partition(scores[unsure], -depth, axis=1)[:, -depth]
            wider = among_all(passages, documents, queries[unsure], edges, errors[unsure], depth)
            scores[unsure] = -np.inf
            for query, best in zip(unsure, wider, strict=True):
                scores[query, :depth], rows[query, :depth] = best
        selections = [greatest_scores(*pair, documents, depth) for pair in zip(scores, rows, strict=True)]
        yield Pairs(
            np.repeat(np.arange(start, start + len(selections)), [len(places) for places in selections]),
            np.concatenate([row[places] for row, places in zip(rows, selections, strict=True)]),
            np.concatenate([row[places] for row, places in zip(scores, selections, strict=True)]),
        )
