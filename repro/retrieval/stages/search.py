"""Stage ``search``: exact inner-product search."""

from pathlib import Path

from repro.progress import Progress
from repro.retrieval.stages.vectors.exact_search import search


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: each query's ``depth`` best passages, as in ``search_views``."""
    return search(inputs, out, progress, terms=["dense"], depth=params["depth"], list_depth=None, tag="dense")
