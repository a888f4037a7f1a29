"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from pathlib import Path

from repro.errors import UsageError
from repro.progress import Progress
from repro.stage_table import check_choices


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by the sum of the inner
    products of the views in ``terms``, e.g. ``["dense", "sparse"]``. A view listed twice counts twice.

    All pairs are scored in float32, on the GPU if there is one, where queries stay and blocks of passages
    pass. Dense views use a matrix product. Sparse views use PyTorch's sparse product on a GPU, and an
    inverted index of the queries on a CPU.

    These scores only find candidates, 100 beyond the depth. They are scored again in a fixed way
    (``ViewScorer``, with the bound on the error of float32) and then cut and sorted. The run therefore has
    the same bytes on a GPU and a CPU, for any number of threads and any memory. If more than those 100 are as
    good as the last one within the bound, the query is compared with all passages again, in float64 if
    float32 leaves too many undecided. Products do not use TF32. If a device still computes below float32,
    scores differ by more than the bound, and all queries are compared in float64.

    Queries are processed in blocks of 32,768. Each block reads all passages twice, and is kept with its
    digest in ``blocks/``, so that an interrupted attempt resumes after it. Each shard processes some blocks.

    Within ``search_memory``, and on a GPU within its free memory, rankings take 40 bytes per rank. Half of
    the rest is for queries and candidates, and half, at most 1 GiB, for a block of passages with its scores.
    In addition every passage takes 32 bytes and its id, and libraries about 50 MB.

    Among equal scores the greater id comes first, also at the depth's edge. ``mode`` ``exact`` ranks all
    passages. ``union`` ranks only those among the ``list_depth`` best by a single view.

    Raises:
        UsageError: an unknown mode or view, no ``list_depth`` for a union, or too little memory.
        DataError: a view is missing, has different widths, or differs in length from the ids.
        StageError: a score is not finite, or a ranking is too short.
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
