"""Everything that ``import repro`` offers."""

from repro.api.comparisons import ComparedCells, compare
from repro.api.listing import Listing
from repro.api.measurement import measure
from repro.api.papers import PublishedPaper, PublishedTable, paper, papers, table
from repro.api.selection import Selection, select
from repro.api.statements import audit, claims, records, references, settings
from repro.manifest.cells import Cell, cell
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
    "audit",
    "cell",
    "claims",
    "compare",
    "measure",
    "paper",
    "papers",
    "records",
    "references",
    "select",
    "settings",
    "table",
    "user_scale",
]
