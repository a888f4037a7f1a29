"""Stage ``search_views``: exact search by a sum of dense and sparse inner products."""

from pathlib import Path

from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.stages.vectors.exact_search import search


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of each query.

    Passages are ranked by the sum of inner products of ``terms``, e.g. ``["dense", "sparse"]``, which may
    repeat. Rough products only find candidates. ``ViewScorer`` scores them again, so that the run has the
    same bytes on any machine. Ties go to the greater id. ``mode`` ``exact`` ranks all passages, ``union``
    only the ``list_depth`` best of each view.
    """
    is_union = params["mode"] == "union"
    if is_union and not params.get("list_depth"):
        raise UsageError("a union of lists needs their list_depth")
    depths = {"depth": params["depth"], "list_depth": params["list_depth"] if is_union else None}
    return search(inputs, out, progress, terms=params["terms"], tag="views", **depths)
