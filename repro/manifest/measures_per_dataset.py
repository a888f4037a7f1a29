"""Which measures a dataset is scored by in one go."""

from __future__ import annotations

import functools
from pathlib import Path

from repro.manifest import yaml_file


def measures(dataset: str, wanted: str) -> list[str]:
    """Sorted names of what scores a run over ``dataset``: the measures of together.yaml and ``wanted``."""
    return sorted({*listed(dataset), wanted})


def listed(dataset: str) -> tuple[str, ...]:
    """The measures of together.yaml alone; none for a dataset that is not named there."""
    return _together().get(dataset, ())


@functools.cache
def _together() -> dict[str, tuple[str, ...]]:
    return yaml_file.read(Path(__file__).with_suffix(".yaml"), dict[str, tuple[str, ...]])
