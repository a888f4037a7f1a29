"""The measures that every run over a dataset is scored by, so that all tables share one evaluation."""

import functools
from pathlib import Path

from repro.manifest import yaml_file


def measures(dataset: str, wanted: str) -> list[str]:
    """Return the sorted measures that score a run over ``dataset``: those listed for it, and ``wanted``."""
    return sorted({*listed_measures(dataset), wanted})


@functools.cache
def listed_measures(dataset: str) -> tuple[str, ...]:
    """Return the measures of measures_per_dataset.yaml; none for a dataset that it does not name."""
    path = Path(__file__).with_suffix(".yaml")
    return yaml_file.read_shared(path, dict[str, tuple[str, ...]]).get(dataset, ())
