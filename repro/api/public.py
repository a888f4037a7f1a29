"""The public names of ``import repro``, e.g. ``repro.select``."""

from typing import Any

from repro.api import Listing, Selection, select
from repro.api.comparisons import ComparedCells, compare
from repro.api.measurement import measure, records
from repro.api.papers import PublishedPaper, PublishedTable, paper, papers, table
from repro.hooks import ask, merged
from repro.manifest.cells import Cell, cell
from repro.manifest.papers import load
from repro.running.scale import user_scale
from repro.running.workspace import Workspace

__all__ = [
    "Cell",
    "ComparedCells",
    "Listing",
    "PublishedPaper",
    "PublishedTable",
    "Selection",
    "Workspace",
    "cell",
    "compare",
    "measure",
    "paper",
    "papers",
    "records",
    "select",
    "table",
    "user_scale",
]


def offered() -> dict[str, Any]:
    """Return the public names with their objects. Plugins give ``module:name`` and may replace the core's."""
    return {name: globals()[name] for name in __all__} | merged(ask().public_names())


def find(name: str) -> Any:
    """Return the public object of that name. Raises KeyError for an unknown name."""
    value = offered()[name]
    return load(value) if isinstance(value, str) else value
