"""Reports drawn by a seed, for whoever follows some of them to their places."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from repro.manifest.reports import CellReport, Report, Source


@dataclass(frozen=True)
class DrawnReport:
    """A report with its source and the cells that it is on, whether these were selected or not."""

    report: Report
    source: Source

    def as_json(self) -> dict:
        """The place, and the value that has to be found there, as plain values."""
        facts = self.report.model_dump(mode="json", exclude={"source"})
        place = {"who": self.source.who, "name": self.source.name, "place": self.source.place}
        return facts | place | {"address": self.source.address}


def draw_reports(cell_reports: Iterable[CellReport], count: int, seed: int) -> list[DrawnReport]:
    """Some of the reports, of the same chance whether on one cell or on many; all where there are no more.

    The order is that of digests of seed, place, cells, value and measure. So a draw does not depend on the
    order of files or on a generator of numbers; a note that is mended leaves it as it is, and a report that
    is added changes it only where that is drawn itself.
    """
    candidates = {DrawnReport(cell_report.report, cell_report.source) for cell_report in cell_reports}
    return sorted(candidates, key=lambda candidate: _digest(candidate, seed))[:count]


def _digest(candidate: DrawnReport, seed: int) -> bytes:
    report, source = candidate.report, candidate.source
    names = (source.address, source.date, source.table, *report.cells)
    text = "\n".join([str(seed), *names, report.value, report.measure, report.at])
    return hashlib.sha256(text.encode()).digest()
