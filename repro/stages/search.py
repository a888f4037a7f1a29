"""Stage ``search``: exact inner-product search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError
from repro.progress import Progress

BLOCK_BYTES = 1 << 30
SPARE = 100  # passages beyond the depth, so that ties across it are broken by id like all others


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by inner product.

    faiss' IndexFlatIP over one block of passages after another, given all queries at once (ten calls of a
    hundred queries take six times as long as one of a thousand). Among equal scores the greater id comes
    first, at the depth's edge too unless more than 100 passages tie there.

    Raises:
        DataError: embeddings are of different sizes, or their ids are not as many as their vectors.
        StageError: a score is not finite.
    """
    from repro.evaluation.runs import write_run

    passages, documents = _embeddings(inputs["passages"])
    queries, topics = _embeddings(inputs["queries"])
    if passages.shape[1] != queries.shape[1]:
        raise DataError(f"passages have {passages.shape[1]} dimensions, queries {queries.shape[1]}")
    scores, rows = best(passages, queries, depth=params["depth"] + SPARE, progress=progress)
    return write_run(out, _ranked(topics, documents, scores, rows, params["depth"]), tag="dense")


def best(
    passages: np.ndarray, queries: np.ndarray, *, depth: int, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """The greatest inner products of each query, in descending order.

    Args:
        passages: (N, H) float32, memory-mapped or not.
        queries: (Q, H) float32.
        depth: K, cut to N.

    Returns:
        scores (Q, K) float32 and rows of ``passages`` (Q, K) int64.

    Raises:
        StageError: a score is not finite.
    """
    import faiss

    queries = np.ascontiguousarray(queries, dtype=np.float32)
    scores = np.empty((len(queries), 0), dtype=np.float32)
    rows = np.empty((len(queries), 0), dtype=np.int64)
    step = max(1, BLOCK_BYTES // (4 * passages.shape[1]))
    with progress.task("searching", total=len(passages)) as advance:
        for first in range(0, len(passages), step):
            block = np.ascontiguousarray(passages[first : first + step], dtype=np.float32)
            index = faiss.IndexFlatIP(block.shape[1])
            index.add(block)
            found, places = index.search(queries, min(depth, len(block)))
            if (places < 0).any() or not np.isfinite(found).all():  # -1 is what faiss puts where it sees nan
                raise StageError("a score is not finite: the embeddings hold a vector that is not")
            scores, rows = np.hstack((scores, found)), np.hstack((rows, places + first))
            order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
            scores, rows = np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)
            advance(len(block))
    return scores, rows


def _ranked(
    topics: list[str], documents: list[str], scores: np.ndarray, rows: np.ndarray, depth: int
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Each query's ``depth`` best, ties cut as they will be ranked: by id, the greater first."""
    for topic, found, places in zip(topics, scores, rows, strict=True):
        names = [documents[place] for place in places]
        if len(names) > depth and found[depth - 1] == found[depth]:
            order = sorted(range(len(names)), key=lambda rank: (found[rank], names[rank]), reverse=True)
            names, found = [names[rank] for rank in order], found[order]
        yield topic, names[:depth], found[:depth]


def _embeddings(folder: Path) -> tuple[np.ndarray, list[str]]:
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    ids = (folder / "ids.txt").read_text(encoding="utf-8").split("\n")[:-1]
    if len(ids) != len(vectors):
        raise DataError(f"{folder}: {len(vectors)} vectors, but {len(ids)} ids")
    return vectors, ids
