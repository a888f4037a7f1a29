"""Stage ``search``: exact inner-product search."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError, UsageError
from repro.progress import Progress
from repro.stages.vectors.search_memory import VARIABLE, search_memory
from repro.stages.vectors.vector_files import IdFile, VectorFile, read_embeddings

BLOCK_BYTES = 1 << 30  # of vectors; more at once is not faster
SPARE = 100  # passages beyond the depth, so that few queries with ties across it are scored again
ROWS, QUERIES = 1024, 4096  # that faiss multiplies at a time
MERGED = 64  # queries at a time, so that what merging needs is small
GPU_DEPTH = 2048  # the deepest search of faiss on a GPU


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by inner product.

    faiss' exact search of one block of passages after another, on the GPU where faiss has one, within
    ``search_memory``: that bounds queries, their rankings and the block; interpreter, libraries
    (some 50 MB), and 8 bytes a passage for ids come on top. Vectors are read from disk once, for all queries:
    ten searches for a hundred queries take six times as long as one for a thousand. Only when queries and
    rankings alone would take more than half of the memory do they come in blocks too, each of which reads all
    vectors again: ``benchmarks/search.py --big`` took twice as long in 30 MB, with two blocks of queries, as
    in 600 MB with one.

    Scores have the same bits in whatever memory as long as blocks have 1,024 passages and queries come at
    once. Among equal scores the greater id comes first, at the depth's edge too. A query for which more than
    100 passages tie there reads all vectors once more, and takes 4 bytes a passage for their scores.

    Raises:
        UsageError: the memory that was stated is no size, or too small.
        DataError: embeddings are of different sizes, or their ids are not as many as their vectors.
        StageError: a vector or a score is not finite.
    """
    from repro.evaluation.run_writer import write_run

    passages, documents = read_embeddings(inputs["passages"])
    queries, topics = read_embeddings(inputs["queries"])
    if passages.shape[1] != queries.shape[1]:
        raise DataError(f"passages have {passages.shape[1]} dimensions, queries {queries.shape[1]}")
    found = best(passages, queries, depth=params["depth"] + SPARE, memory=search_memory(), progress=progress)
    ranked = _ranked(passages, queries, topics, documents, found, params["depth"])
    return write_run(out, ranked, tag="dense")


def best(
    passages: VectorFile, queries: VectorFile, *, depth: int, memory: int, progress: Progress
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The greatest inner products of each query, in descending order, for one block of queries at a time.

    Args:
        passages: (N, H).
        queries: (Q, H).
        depth: K, cut to N.
        memory: in bytes.

    Yields:
        the block's first query, scores (B, K) float32, and rows of ``passages`` (B, K) int64; the arrays are
        used again for the next block.

    Raises:
        UsageError: the memory does not hold a query and a passage.
        StageError: a vector or a score is not finite.
    """
    depth = min(depth, len(passages))
    together, step = divided(memory, queries=len(queries), depth=depth, size=passages.shape[1])
    step, search = max(1, min(step, len(passages))), _faiss(depth)
    block, asked = (np.empty((rows, passages.shape[1]), np.float32) for rows in (step, together))
    scores, rows = np.empty((together, depth), np.float32), np.empty((together, depth), np.int64)
    blocks = -(-len(queries) // together)
    with progress.task("searching", total=len(passages) * blocks) as advance:
        for start in range(0, len(queries), together):
            these = _read(queries, start, min(start + together, len(queries)), into=asked)
            best_scores, best_rows = scores[: len(these)], rows[: len(these)]
            best_scores[:] = -np.inf
            for first in range(0, len(passages), step):
                vectors = _read(passages, first, min(first + step, len(passages)), into=block)
                found, places = search(these, vectors, min(depth, len(vectors)))
                _merge(best_scores, best_rows, found, places, first)
                advance(len(vectors))
            yield start, best_scores, best_rows


def _read(file: VectorFile, first: int, end: int, into: np.ndarray) -> np.ndarray:
    """These rows; StageError if one is not finite, whose passage or query faiss would silently pass over."""
    vectors = file.read(first, end, into=into)
    if not np.isfinite([vectors.min(), vectors.max()]).all():  # nan is both
        raise StageError(f"{file.path}: a vector among rows {first} to {end} is not finite; encode again")
    return vectors


def divided(memory: int, *, queries: int, depth: int, size: int) -> tuple[int, int]:
    """How many queries are searched for together, and in how many passages at a time.

    A query takes its vector, and for each rank 12 bytes of its ranking and 12 of the block's; of 4,096
    queries at a time faiss holds twice the depth as candidates.

    Raises:
        UsageError: the memory does not hold a query and a passage.
    """
    each, candidates = 4 * size + 24 * depth, 24 * depth
    together = memory // 2 // (each + candidates)
    if together < 1:
        least = 2 * (each + candidates)
        raise UsageError(f"{memory} bytes do not hold one query; set {VARIABLE} to at least {least}")
    if together > QUERIES:
        together = (memory // 2 - QUERIES * candidates) // each
        together -= together % QUERIES if together < queries else 0
    together = min(together, max(1, queries))
    left = memory - together * each - min(together, QUERIES) * candidates
    rows = min(left, BLOCK_BYTES) // (4 * size)
    return together, rows - rows % ROWS if rows > ROWS else rows


def _faiss(depth: int) -> Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]:
    """faiss' search of arrays, without an index that would copy them; on a GPU if this faiss can use one."""
    import faiss

    if hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() and depth <= GPU_DEPTH:
        resources = faiss.StandardGpuResources()
        return lambda *arrays: faiss.knn_gpu(resources, *arrays, metric=faiss.METRIC_INNER_PRODUCT)
    return lambda *arrays: faiss.knn(*arrays, metric=faiss.METRIC_INNER_PRODUCT)


def _merge(scores: np.ndarray, rows: np.ndarray, found: np.ndarray, places: np.ndarray, first: int) -> None:
    """Put what the block from row ``first`` gave, (B, at most K), among the best so far, (B, K).

    Of equal scores the earlier stays.
    """
    if (places < 0).any() or not np.isfinite(found).all():  # -1 is what faiss puts where it sees nan
        raise StageError("a score is not finite: the embeddings hold a vector that is not")
    places += first
    for start in range(0, len(scores), MERGED):
        some = slice(start, start + MERGED)
        both = np.hstack((scores[some], found[some]))
        order = np.argsort(-both, axis=1, kind="stable")[:, : scores.shape[1]]
        scores[some] = np.take_along_axis(both, order, axis=1)
        rows[some] = np.take_along_axis(np.hstack((rows[some], places[some])), order, axis=1)


def _ranked(
    passages: VectorFile,
    queries: VectorFile,
    topics: IdFile,
    documents: IdFile,
    blocks: Iterator[tuple[int, np.ndarray, np.ndarray]],
    depth: int,
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Each query's ``depth`` best, ties cut as they will be ranked: by id, the greater first."""
    for start, scores, rows in blocks:
        names = topics.at(np.arange(start, start + len(scores)))
        for query, (topic, found, places) in enumerate(zip(names, scores, rows, strict=True), start):
            if len(places) > depth and found[depth - 1] == found[depth]:
                if found[depth] == found[-1] and len(places) < len(passages):
                    vector = queries.read(query, query + 1)[0]
                    found, places = _with_all_ties(passages, documents, vector, found, places, depth)
                ids = documents.at(places)
                order = sorted(range(len(ids)), key=lambda rank: (found[rank], ids[rank]), reverse=True)
                places, found = places[order], found[order]
            yield topic, documents.at(places[:depth]), found[:depth]


def _with_all_ties(
    passages: VectorFile,
    documents: IdFile,
    query: np.ndarray,
    found: np.ndarray,
    places: np.ndarray,
    depth: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates in descending order, (K,) each, the last ones replaced by the ``depth`` greatest ids of all
    passages that tie with them.

    Which these are is decided by sums in float64, rounded once: in those of faiss, equal vectors at different
    places may differ.
    """
    scores = np.empty(len(passages), dtype=np.float32)
    for first in range(0, len(passages), ROWS):
        vectors = passages.read(first, min(first + ROWS, len(passages))).astype(np.float64)
        scores[first : first + ROWS] = (vectors * query).sum(axis=1)
    level = found[-1]
    tied = np.flatnonzero(np.isin(scores, np.unique(scores[places[found == level]])))
    above = places[found > level]
    tied = np.setdiff1d(tied, above, assume_unique=True)
    tied = heapq.nlargest(depth, tied, key=lambda row: documents.at(np.array([row])))
    return np.append(found[found > level], np.full(len(tied), level)), np.append(above, tied)
