"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from repro.errors import DataError, UsageError, check_known
from repro.machine.shard import shard, share
from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.stages.vectors.run_blocks import RunBlocks
from repro.retrieval.stages.vectors.search_memory import search_memory
from repro.retrieval.stages.vectors.view_files import Views
from repro.stage_table import check_choices

BLOCK = 32_768  # queries searched together, and lost at most when interrupted


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by the sum of the inner
    products of the views that ``terms`` lists (one listed twice counts twice).

    All pairs are scored in float32, on the GPU if there is one: queries stay there, and passages go by in
    blocks that are read meanwhile. Dense views are a matrix product; sparse ones, on a GPU, PyTorch's product
    of a sparse matrix (passages) and a dense one (queries), and on a CPU a product through an inverted index
    of the queries.

    These scores only find candidates, 100 beyond the depth, which are scored again in a fixed way
    (``ViewScorer``, with the bound on the error of float32), and cut and ordered by that: the run has the
    same bytes on a GPU and a CPU, on any number of threads and in any memory. A query that may lack a
    passage, because more than those 100 are as good as the last one within the bound, is held against all
    passages once more, in float64 where float32 leaves too many in doubt. Products are not made in TF32;
    where a device makes them with less than float32 all the same, both scores of a candidate differ by more
    than the bound, and all queries are held against all passages in float64.

    Queries come in blocks of 32,768, each of which reads all passages once, and once more for their second
    scoring. A finished block is kept with its digest in ``blocks/`` until the store seals the run, so that an
    interrupted attempt goes on behind it; shards take some each.

    Within ``search_memory``, and on a GPU within what is free there, lie the rankings of a block of queries,
    40 bytes a rank; half of the rest is for queries and candidates, and half, but no more than 1 GiB, for a
    block of passages with its scores. On top come 32 bytes and the id for every passage, and libraries with
    their buffers, some 50 MB.

    Among equal scores the greater id comes first, at the depth's edge too. ``mode`` ``exact`` ranks all
    passages, ``union`` those only that are among the ``list_depth`` best by one of the views alone.

    Raises:
        UsageError: an unknown mode or view, no ``list_depth`` for a union, or too little memory.
        DataError: a view is missing, of different widths, or not as long as the ids.
        StageError: a score is not finite, or a ranking is shorter than it must be.
    """
    from repro.retrieval.nn.precision import true_float32

    check_choices("search_views", params)
    passages, queries = Views.read(inputs["passages"]), Views.read(inputs["queries"])
    terms = params["terms"]
    _check(terms, passages, queries)
    lists = {"": params["depth"]}
    if params["mode"] == "union":
        if not params.get("list_depth"):
            raise UsageError("a union of lists needs their list_depth")
        lists = dict.fromkeys(terms, params["list_depth"])
    search = _search(passages, queries, terms, lists, params["depth"])
    blocks = RunBlocks(out, len(queries), BLOCK)
    with true_float32(), progress.task("searching", total=share(len(queries), BLOCK)) as advance:
        resumed_at = blocks.fill(lambda first, end: search.block(first, end, advance), advance)
    if not shard().whole:
        return {}
    facts = write_run(out, blocks.ranked(queries.ids, passages.ids), tag="views")
    return facts | ({"resumed_at": resumed_at} if resumed_at else {})


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


def _search(passages: Views, queries: Views, terms: Sequence[str], lists: dict[str, int], depth: int):
    from repro.retrieval.nn.precision import device
    from repro.retrieval.stages.vectors.view_products import uses_inverted_index
    from repro.retrieval.stages.vectors.view_search import SPARE, ViewSearch
    from repro.retrieval.stages.vectors.view_sizes import MemoryNeeds, device_memory

    order = passages.ids.ascending()
    places = np.empty_like(order)
    places[order] = np.arange(len(places))
    processor, count = device(), len(passages)
    candidates = sum(min(most + SPARE, count) for most in lists.values())
    ranks = min(len(queries), BLOCK) * min(depth, count) * (1 if "" in lists else len(lists))
    needs = MemoryNeeds(
        passages, queries, terms, candidates=candidates, ranked=ranks, inverted=uses_inverted_index(processor)
    )
    sizes = needs.sizes(int(min(search_memory(), device_memory(processor))))
    return ViewSearch(passages, queries, terms, lists, depth, places, sizes, processor)
