"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from pathlib import Path

from repro.errors import UsageError
from repro.progress import Progress
from repro.stage_table import check_choices


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by the sum of the inner
    products of the views in ``terms``, e.g. ``["dense", "sparse"]``. A view listed twice counts twice.

    Products in float32 only find candidates, 100 more than the depth. They are scored again in a fixed way
    (``ViewScorer``), so that the run has the same bytes on a GPU and a CPU, for any number of threads and any
    memory. If more than those 100 may be as good as the last one within the error bound, the query is
    compared with all passages. ``search_memory`` limits the memory, and in addition every passage takes 32
    bytes and its id.

    Among equal scores the greater id comes first. ``mode`` ``exact`` ranks all passages. ``union`` ranks only
    those among the ``list_depth`` best by a single view.
    """
    from repro.retrieval.stages.vectors.exact_search import search

    check_choices("search_views", params)
    is_union = params["mode"] == "union"
    if is_union and not params.get("list_depth"):
        raise UsageError("a union of lists needs their list_depth")
    depths = {"depth": params["depth"], "list_depth": params["list_depth"] if is_union else None}
    return search(inputs, out, progress, terms=params["terms"], tag="views", **depths)
