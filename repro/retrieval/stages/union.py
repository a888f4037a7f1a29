"""Stage ``union``: concatenate training sets."""

from pathlib import Path

from datasets import concatenate_datasets

from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows


def run(params: dict, inputs: dict[str, list[Path]], out: Path, progress: Progress) -> dict:
    """Write one training set with the rows of all inputs, in the order of the inputs."""
    parts = [read_rows(path) for path in inputs["training_sets"]]
    with progress.task("joining training sets"):
        concatenate_datasets(parts).save_to_disk(str(out / "arrow"))
    return {"rows": [len(part) for part in parts]}
