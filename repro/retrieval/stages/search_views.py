"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from pathlib import Path

from repro.errors import UsageError
from repro.progress import Progress
from repro.stage_table import check_choices


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
    from repro.retrieval.stages.vectors.exact_search import search

    check_choices("search_views", params)
    is_union = params["mode"] == "union"
    if is_union and not params.get("list_depth"):
        raise UsageError("a union of lists needs their list_depth")
    list_depth = params["list_depth"] if is_union else None
    return search(
        inputs,
        out,
        progress,
        terms=params["terms"],
        depth=params["depth"],
        list_depth=list_depth,
        tag="views",
    )
