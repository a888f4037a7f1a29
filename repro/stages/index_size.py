"""Stage ``index_size``: how large the vectors of a collection are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``scores.json`` with the one measure GB: N x H numbers of ``bytes_per_number`` bytes, in units of
    ``bytes_per_gb``. Only the vectors' shape is read.
    """
    count, size = np.load(inputs["passages"] / "vectors.npy", mmap_mode="r").shape
    gigabytes = count * size * params["bytes_per_number"] / params["bytes_per_gb"]
    scores = {"queries": ["index"], "measures": {"GB": [gigabytes]}, "missing": [], "ignored": 0}
    (out / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    return {"vectors": count, "size": size, "gigabytes": gigabytes}
