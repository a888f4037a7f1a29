"""The measures that every run over a dataset is scored by, so that all tables share one evaluation."""

import functools
from pathlib import Path

from repro.manifest import yaml_file


def measures(dataset: str, wanted: str) -> list[str]:
    """Sorted names of the measures that score a run over ``dataset``: those listed for it, and ``wanted``."""
    return sorted({*listed_measures(dataset), wanted})


def listed_measures(dataset: str) -> tuple[str, ...]:
    """The measures of measures_per_dataset.yaml; none for a dataset that it does not name."""
    return _by_dataset().get(dataset, ())


@functools.cache
def _by_dataset() -> dict[str, tuple[str, ...]]:
    return yaml_file.read(Path(__file__).with_suffix(".yaml"), dict[str, tuple[str, ...]])
