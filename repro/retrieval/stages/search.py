"""Stage ``search``: exact inner-product search."""

from pathlib import Path

from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the ``depth`` best passages of every query by inner product.

    It is the search of ``search_views`` by the dense view alone: in blocks of 32,768 queries, on the GPU if
    there is one, within ``search_memory``. Among equal scores the greater id comes first, at the depth's edge
    too, and the run has the same bytes on a GPU and a CPU, on any number of threads and in any memory.

    Raises:
        UsageError: the memory that was stated is no size, or too small.
        DataError: embeddings are of different sizes, or their ids are not as many as their vectors.
        StageError: a vector or a score is not finite.
    """
    from repro.retrieval.stages.vectors.exact_search import search

    return search(inputs, out, progress, terms=["dense"], depth=params["depth"], list_depth=None, tag="dense")
