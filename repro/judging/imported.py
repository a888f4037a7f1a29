"""Verdicts on the imported runs of a cell, which somebody else made."""

from collections.abc import Sequence
from dataclasses import replace

from repro.judging.tolerance import UNITS, tolerance
from repro.judging.verdict import Verdict, verdict
from repro.manifest.cells import Cell
from repro.store.results import Record

SCALE = "full"  # what others ran is compared with the published number, or not at all
TOLERANCE = "re-encoded"  # another machine, another version of the software: the least that may differ


def imported_verdict(cell: Cell, records: Sequence[Record]) -> Verdict:
    """Judge the newest of a cell's imported runs; ``why`` names it, and the values of the others."""
    *others, record = records
    stated = cell.row.tolerance or TOLERANCE
    width = tolerance(stated, cell.column.measure, unit=cell.unit) if cell.unit in UNITS else None
    judged = verdict(cell.printed, [record.measured], scale=SCALE, modified=False, tolerance=width)
    return with_imported_runs(replace(judged, why=f"imported run {_name(record)}: {judged.why}"), others)


def with_imported_runs(judged: Verdict, imported: Sequence[Record]) -> Verdict:
    """The same verdict, whose ``why`` also names the values of imported runs of the cell."""
    if not imported:
        return judged
    values = ", ".join(f"{_name(r)} gave {r.measured:.6g}" for r in imported)
    return replace(judged, why=f"{judged.why}; also imported: {values}")


def _name(record: Record) -> str:
    return str(record.origin.get("file", "without a name"))
