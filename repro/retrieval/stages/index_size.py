"""Stage ``index_size``: the size of a collection's vectors in GB."""

import json
from pathlib import Path

import numpy as np

from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``scores.json`` with the measure GB: N x H numbers of ``bytes_per_number`` bytes, e.g. 4.

    A GB has ``bytes_per_gb`` bytes. Sparse vectors count with their values, but not their indices.
    """
    folder, size, values = inputs["passages"], 0, 0
    sparse = (folder / "indptr.npy").exists()
    if (folder / "vectors.npy").exists() or not sparse:
        count, size = np.load(folder / "vectors.npy", mmap_mode="r").shape
    if sparse:
        indptr = np.load(folder / "indptr.npy", mmap_mode="r")
        count, values = len(indptr) - 1, int(indptr[-1])
    gigabytes = (count * size + values) * params["bytes_per_number"] / params["bytes_per_gb"]
    scores = {"queries": ["index"], "measures": {"GB": [gigabytes]}, "missing": [], "ignored": 0}
    (out / "scores.json").write_text(json.dumps(scores))
    return {"vectors": count, "size": size, "gigabytes": gigabytes} | ({"values": values} if values else {})
