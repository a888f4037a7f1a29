"""Stage ``sample``: a few queries of a training set."""

import random
from pathlib import Path

import numpy as np

from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/``: some rows of a training set in its order, ``queries`` of them or a ``share``.

    ``random`` draws without replacement, by ``seed`` and the number ``sample``. ``block`` takes consecutive
    rows from a random start.
    """
    rows = read_rows(inputs["training_set"])
    selection = places(len(rows), **params)
    scratch = out / "scratch.arrow"
    with progress.task("writing the sample"):
        rows.select(selection).flatten_indices(cache_file_name=str(scratch)).save_to_disk(str(out / "arrow"))
    scratch.unlink(missing_ok=True)
    return {"queries": len(selection), "of": len(rows)}


def places(
    total: int, *, sample: int, method: str, seed: int, queries: int | None = None, share: float | None = None
) -> list[int]:
    """Return the row numbers of one sample of ``total`` rows, ascending. A share has at least one row."""
    count = min(queries or total, total) if share is None else max(1, round(share * total))
    if method == "block":
        start = int(random.Random(seed + sample).random() * (total - count))
        return list(range(start, start + count))
    return sorted(np.random.default_rng((seed, sample)).choice(total, count, replace=False).tolist())
