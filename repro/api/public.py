"""Everything that ``import repro`` offers."""

from typing import Any

from repro.api import Listing
from repro.api.comparisons import ComparedCells, compare
from repro.api.measurement import measure, records
from repro.api.papers import PublishedPaper, PublishedTable, paper, papers, table
from repro.api.selection import Selection, select
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
    """Return everything by its name, that of plugins as ``module:name``, which takes the core's place."""
    return {name: globals()[name] for name in __all__} | merged(ask().public_names())


def find(name: str) -> Any:
    """Return what is offered by that name. Raises KeyError where there is nothing."""
    value = offered()[name]
    return load(value) if isinstance(value, str) else value
