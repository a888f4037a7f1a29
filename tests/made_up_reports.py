"""Reports made up for tests."""

from repro.hooks import CellNote
from repro.manifest.cells import Cell
from repro.plugins.reports.reports import CellReport, Report, Source

SOURCE = Source(who="independent", name="somebody's repository", repository="a/b", issue=5, date="2024-01-01")


def report_on(
    cell: Cell, value: str, start: str = "checkpoint", *, source: Source = SOURCE, **stated
) -> CellReport:
    stated = {"unit": cell.unit, "measure": "m", "dataset": "d", "source": "x", **stated}
    return CellReport(cell, Report(cells=(cell.id,), value=value, how={"start": start}, **stated), source)


def notes_on(cell: Cell, *values: str, **stated) -> tuple[CellNote, ...]:
    return tuple(report_on(cell, value, **stated).note for value in values)
