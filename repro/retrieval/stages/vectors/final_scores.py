"""The scores that a search writes: made in one fixed way, whatever device, threads or blocks found them."""

import numpy as np

from repro.retrieval.stages.vectors.vector_files import IdFile, VectorFile

READ = 1 << 20  # bytes of passages at a time: opening the file would take longer than reading few
ROWS, PAIRS = 256, 128  # passages held against all queries, and pairs multiplied, at a time
ROUNDING = 2.0**-24  # the relative error of one float32 operation
SMALLEST = 2.0**-126  # what a float32 operation may lose near zero


def inner_products(passages: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Inner products of pairs of rows, (P, H) and (P, H) or (H,) float32, as (P,) float32.

    Two float32 numbers have an exact product in float64. Products are summed in pairs of pairs, in an order
    that depends on H alone, and rounded once; sums of BLAS have another order for other sizes and threads.
    """
    products = passages.astype(np.float64)
    products *= queries
    return np.add.reduce(products, axis=1).astype(np.float32)


def rescore(passages: VectorFile, queries: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The final scores of candidates, (Q, K) float32, and the greatest length of all passages.

    Args:
        queries: (Q, H) float32.
        rows: (Q, K) int64, of each query's candidates among the passages, which are read once, in order.
    """
    depth, rows = rows.shape[1], rows.ravel()
    order = np.argsort(rows)  # pairs as their passages lie on disk
    step = max(1, READ // (4 * passages.shape[1]))
    firsts = np.arange(0, len(passages), step)
    bounds = np.append(np.searchsorted(rows[order], firsts), len(order))
    scores, longest = np.empty(len(rows), np.float32), 0.0
    for first, begin, end in zip(firsts, bounds[:-1], bounds[1:], strict=True):
        vectors = passages.read(first, min(first + step, len(passages)))
        longest = max(longest, float(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64).max()))
        for start in range(begin, end, PAIRS):
            pairs = order[start : min(start + PAIRS, end)]
            scores[pairs] = inner_products(vectors[rows[pairs] - first], queries[pairs // depth])
    return scores.reshape(-1, depth), float(np.sqrt(longest))


def error_bounds(queries: np.ndarray, longest: float) -> np.ndarray:
    """How far float32 products of a query may lie from final scores, (Q,) float64.

    A sum of H products in whatever order, with fused operations or without, is wrong by at most
    H u / (1 - H u) times the lengths of both vectors, u being 2^-24 (Higham, Accuracy and Stability of
    Numerical Algorithms, §3.1); four more operations and a hundredth are for the rounding of the final score
    and of the lengths. It holds for float32, not for the ten bits of TF32, which faiss does not ask for.

    Args:
        queries: (Q, H) float32.
        longest: the greatest length of a passage.
    """
    operations = queries.shape[1] + 4
    relative = operations * ROUNDING / (1 - operations * ROUNDING)
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    return 1.01 * (relative * lengths * longest + operations * SMALLEST)


def may_lack(products: np.ndarray, final: np.ndarray, errors: np.ndarray, depth: int) -> np.ndarray:
    """Queries, as row numbers, some of whose ``depth`` best passages may not be among the candidates.

    What was left out was found to score no more than the last candidate, so its final score is at most the
    error's bound above that; where the candidate in place ``depth`` scores more, none is lacking. A query of
    which a candidate's two scores differ by more than the bound was not multiplied in float32.

    Args:
        products: (Q, K) float32, in descending order, with K greater than ``depth``.
        final: (Q, K) float32, of the same candidates.
        errors: (Q,) float64, of ``error_bounds``.
    """
    edges = np.partition(final, -depth, axis=1)[:, -depth]
    most = (products[:, -1] + errors).astype(np.float32)
    rough = np.abs(products - final).max(axis=1) > errors
    return np.flatnonzero((edges <= most) | rough)


def among_all(
    passages: VectorFile, ids: IdFile, queries: np.ndarray, edges: np.ndarray, errors: np.ndarray, depth: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Final scores and rows of the ``depth`` best of all passages for each query, (depth,) each.

    All passages are read once; those whose float32 product says that they may reach the edge are scored.

    Args:
        queries: (Q, H) float32.
        edges: (Q,) float32, scores that at least ``depth`` passages are known to reach.
        errors: (Q,) float64, of ``error_bounds``.
    """
    best = [(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in queries]
    edges = edges.copy()
    for first in range(0, len(passages), ROWS):
        vectors = passages.read(first, min(first + ROWS, len(passages)))
        near = ~(vectors @ queries.T < edges - errors)  # (ROWS, Q); what overflows is near
        for query in np.flatnonzero(near.any(axis=0)):
            rows = np.flatnonzero(near[:, query])
            scores = inner_products(vectors[rows], queries[query])
            mask = scores >= edges[query]
            pair = scores[mask], rows[mask] + first
            scores, rows = (np.append(*parts) for parts in zip(best[query], pair, strict=True))
            if len(rows) > 2 * max(depth, ROWS):
                places = greatest_scores(scores, rows, ids, depth)
                scores, rows = scores[places], rows[places]
                edges[query] = scores.min()
            best[query] = scores, rows
    selections = [greatest_scores(scores, rows, ids, depth) for scores, rows in best]
    return [(scores[places], rows[places]) for (scores, rows), places in zip(best, selections, strict=True)]


def greatest_scores(scores: np.ndarray, rows: np.ndarray, ids: IdFile, depth: int) -> np.ndarray:
    """The places of the ``depth`` greatest scores, in no order; of equal ones those with the greatest ids."""
    if len(scores) <= depth:
        return np.arange(len(scores))
    edge = np.partition(scores, -depth)[-depth]
    greater, ties = np.flatnonzero(scores > edge), np.flatnonzero(scores == edge)
    room = depth - len(greater)
    if room < len(ties):
        names = ids.at(rows[ties])
        ties = ties[sorted(range(len(ties)), key=names.__getitem__, reverse=True)[:room]]
    return np.append(greater, ties)
