"""What the imported runs of a cell, which somebody else made, say beside the published number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from repro.judging.tolerance import UNITS, tolerance
from repro.judging.verdict import Verdict, verdict
from repro.manifest.cells import Cell
from repro.store.results import Record

SCALE = "full"  # what others ran is compared with the published number, or not at all
TOLERANCE = "re-encoded"  # another machine, another version of the software: the least that may differ


def imported_verdict(cell: Cell, records: Sequence[Record]) -> Verdict:
    """Print beside the newest of a cell's imported runs; ``why`` names it, and what the others gave."""
    *others, record = records
    stated = cell.row.tolerance or TOLERANCE
    width = tolerance(stated, cell.column.measure, unit=cell.unit) if cell.unit in UNITS else None
    found = verdict(cell.printed, [record.measured], scale=SCALE, modified=False, tolerance=width)
    return _told(replace(found, why=f"imported run {_name(record)}: {found.why}"), others)


def beside_imports(found: Verdict, imported: Sequence[Record]) -> Verdict:
    """A verdict on the suite's own run, which says what imported runs of the cell gave."""
    return _told(found, imported)


def _told(found: Verdict, others: Sequence[Record]) -> Verdict:
    if not others:
        return found
    told = ", ".join(f"{_name(r)} gave {r.measured:.6g}" for r in others)
    return replace(found, why=f"{found.why}; also imported: {told}")


def _name(record: Record) -> str:
    return str(record.origin.get("file", "without a name"))
