"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError, UsageError, check_known
from repro.evaluation.run_writer import write_run
from repro.progress import Progress
from repro.stages.vectors.search_memory import VARIABLE, search_memory
from repro.stages.vectors.view_files import Views
from repro.stages.vectors.view_scores import ViewScorer

BLOCK_BYTES = 1 << 30
QUERIES = 2048  # at once
PAIR = 64  # bytes of a passage's scores for one query: two views, their sum, keys, 8 each and again
VALUE = 32  # bytes of a sparse value while it becomes part of a matrix: row twice, column, value
RANK = 16  # bytes of a query's rank: its key, and the same again while keys are merged
SPARE = 100  # passages beyond a list's depth, so that few queries need a look at all passages
MODES = ("exact", "union")


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by the sum of the inner
    products of the views that ``terms`` lists (one listed twice counts twice).

    All pairs are scored, one block of passages after another, on the GPU if there is one: dense views as a
    matrix product, sparse ones as PyTorch's product of a sparse matrix (passages) and a dense one (queries).
    Its time grows with the values that were kept; that of scipy's product of two sparse matrices grows with
    the frequency of frequent terms, has no GPU, and its result is full anyway. Full ranking of a large
    collection takes minutes on a GPU and hours on a CPU.

    Products and their sum are made in float64 and rounded once. Their last bits, and with cancellation more
    than those, depend on blocks and device; so these scores only find candidates, 100 beyond the depth, which
    are scored again in a fixed way (``ViewScorer``), and cut and ordered by that. A query that may lack a
    passage, because more than those 100 are as good as the last one, is held against all passages once more.

    ``search_memory`` holds the rankings, 16 bytes for every rank of every query and list; half
    of the rest, and no more than 1 GiB, is for a block of passages with its scores, as much for the queries
    that are scored together, which as rows of a vocabulary take 16 bytes a word. On top come 32 bytes and the
    id for every passage, and 256 passages in float64.

    Among equal scores the greater id comes first, at the depth's edge too. ``mode`` ``exact`` ranks all
    passages, ``union`` those only that are among the ``list_depth`` best by one of the views alone.

    Raises:
        UsageError: an unknown mode or view, no ``list_depth`` for a union, or too little memory.
        DataError: a view is missing, of different widths, or not as long as the ids.
        StageError: a score is not finite.
    """
    check_known("mode of search", params["mode"], valid=MODES)
    passages, queries = Views.read(inputs["passages"]), Views.read(inputs["queries"])
    terms = params["terms"]
    _check(terms, passages, queries)
    lists = {"": params["depth"]}
    if params["mode"] == "union":
        if not params.get("list_depth"):
            raise UsageError("a union of lists needs their list_depth")
        lists = dict.fromkeys(terms, params["list_depth"])
    ascending = passages.ids.ascending()
    places = np.empty_like(ascending)
    places[ascending] = np.arange(len(places))
    wider = {name: depth + SPARE for name, depth in lists.items()}
    best, largest = _best(passages, queries, places, terms=terms, lists=wider, progress=progress)
    scorer = ViewScorer(passages, queries, terms, largest, ascending)
    return write_run(out, _ranked(scorer, best, lists, params["depth"]), tag="views")


def _check(terms: Sequence[str], passages: Views, queries: Views) -> None:
    check_known("view", *terms, valid=("dense", "sparse"))
    if not terms:
        raise UsageError("there is no view to search by; name dense, sparse or both")
    for view in terms:
        widths = passages.widths[view], queries.widths[view]
        if None in widths:
            raise DataError(f"the {'passages' if widths[0] is None else 'queries'} have no {view} vectors")
        if widths[0] != widths[1]:
            raise DataError(f"{view} vectors of passages have {widths[0]} dimensions, of queries {widths[1]}")


def _best(
    passages: Views,
    queries: Views,
    places: np.ndarray,
    *,
    terms: Sequence[str],
    lists: dict[str, int],
    progress: Progress,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Find the best passages of each query, as keys of their scores (``repro.nn.ranking_keys``).

    Args:
        places: (N,), of each passage among all ids in ascending order.
        lists: how many passages to find by which view; the view "" is the sum.

    Returns:
        a (Q, K) int64 array for each list, in descending order, and the greatest magnitude in each view of
        the passages.
    """
    import torch

    from repro.nn.precision import device

    where, count = device(), len(queries.ids)
    per_block, blocks = _block_sizes(passages, queries, terms, lists, search_memory())
    places = torch.from_numpy(places).to(where)
    best = dict.fromkeys(lists, torch.empty(count, 0, dtype=torch.int64))
    largest = dict.fromkeys(terms, 0.0)
    with progress.task("searching", total=len(passages.ids)) as advance:
        for first, end in blocks if count else ():
            rows = {view: passages.rows(view, first, end, where) for view in largest}
            for view in largest:
                values = passages.values(view, first, end)
                largest[view] = max(largest[view], values.max(initial=0), -values.min(initial=0))
            parts = {name: [] for name in lists}
            for start in range(0, count, per_block):
                stop = min(start + per_block, count)
                scores = _scores(rows, queries, terms, start, stop)
                for name, keys in _top_keys(scores, places[first:end], lists).items():
                    both = torch.cat((best[name][start:stop], keys), dim=1)
                    parts[name].append(both.topk(min(lists[name], both.shape[1]), dim=1).values)
            best = {name: torch.cat(parts[name]) for name in lists}
            advance(end - first)
    return {name: keys.numpy() for name, keys in best.items()}, largest


def _top_keys(scores: dict, places, lists: dict[str, int]) -> dict:
    """The greatest keys of a block by each list's view."""
    from repro.nn.ranking_keys import ranking_keys

    tops = {}
    for name, depth in lists.items():
        keys = ranking_keys(_round(scores[name]), places)
        tops[name] = keys.topk(min(depth, len(places)), dim=1).values.cpu()
    return tops


def _block_sizes(
    passages: Views, queries: Views, terms: Sequence[str], lists: dict[str, int], memory: int
) -> tuple[int, Iterator[tuple[int, int]]]:
    """The number of queries that are scored together, and the ranges of passages that go with it.

    Raises:
        UsageError: the memory does not hold the rankings, a query and the passage with most values.
    """
    rankings = RANK * len(queries.ids) * sum(min(depth, len(passages.ids)) for depth in lists.values())
    query = 16 * max(queries.widths[view] for view in terms)
    heaviest = 8 * passages.widths["dense"] if "dense" in terms else 0
    if "sparse" in terms:
        heaviest += VALUE * int(np.diff(passages.sparse[0]).max(initial=0))
    least = rankings + 2 * max(query, heaviest + PAIR)
    if memory < least:
        message = f"{memory} bytes do not hold the rankings with one query and one passage"
        raise UsageError(f"{message}; set {VARIABLE} to at least {least}")
    block = min(BLOCK_BYTES, (memory - rankings) // 2)
    per_block = max(1, min(QUERIES, len(queries.ids), block // query, (block - heaviest) // PAIR))
    return per_block, _blocks(passages, per_block, terms, block)


def _blocks(passages: Views, queries: int, terms: Sequence[str], memory: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of passages, of one at least, that fit into the memory together with their scores."""
    count, each = len(passages.ids), PAIR * queries
    each += 8 * passages.widths["dense"] if "dense" in terms else 0

    def size(first: int, end: int) -> int:
        values = int(passages.sparse[0][end] - passages.sparse[0][first]) if "sparse" in terms else 0
        return each * (end - first) + VALUE * values

    end = 0
    while (first := end) < count:
        fitting = bisect_right(range(first + 1, count + 1), memory, key=partial(size, first))
        end = first + max(1, fitting)
        yield first, end


def _scores(rows: dict, queries: Views, terms: Sequence[str], start: int, stop: int) -> dict:
    """Inner products (q, n), float64, of queries ``start`` to ``stop`` and passages: by view, "" the sum."""
    import torch

    scores = {}
    for view, passages in rows.items():
        theirs = queries.rows(view, start, stop, passages.device).to_dense().T.contiguous()
        scores[view] = (torch.matmul if view == "dense" else torch.sparse.mm)(passages, theirs).T
    return scores | {"": sum(scores[term] for term in terms)}


def _round(scores):
    """Round scores to float32. Raises StageError where one is not finite."""
    import torch

    rounded = scores.to(torch.float32)
    if not rounded.isfinite().all():
        raise StageError("a score is not finite: the embeddings hold a vector that is not")
    return rounded


def _ranked(
    scorer: ViewScorer, best: dict[str, np.ndarray], lists: dict[str, int], depth: int
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Yield each query's ``depth`` best passages with their scores, out of all lists."""
    topics, ids = scorer.queries.ids, scorer.passages.ids
    for query, topic in enumerate(topics.at(np.arange(len(topics)))):
        listed = [scorer.listed(query, best[name][query], name, most) for name, most in lists.items()]
        places, scores = listed[0]
        if "" not in lists:
            places = np.unique(np.concatenate([places for places, _ in listed]))
            scores = scorer.scores(query, places, "")
        kept = np.lexsort((places, scores))[-depth:]
        yield topic, ids.at(scorer.ascending[places[kept]]), scores[kept]
