"""Runs that others made, beside a published cell: what each is, and a verdict of its own."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from repro.graph import Node
from repro.manifest.cells import Cell
from repro.store.results import Record
from repro.verdicts.doubts import Doubt, doubts_about_run
from repro.verdicts.tolerance import UNITS, Tolerance, implied_class, tolerance
from repro.verdicts.verdict import Verdict, verdict

SCALE = "full"  # what others ran is compared with the published number, or not at all


@dataclass(frozen=True)
class ImportedRun:
    """A run that somebody else made of a cell's system, scored as the cell is.

    It is no measurement of the suite's: its verdict counts neither among those that pass nor among those that
    fail.
    """

    record: Record
    verdict: Verdict
    doubts: tuple[Doubt, ...] = ()

    @property
    def measured(self) -> float:
        """The run's score in the unit of the published number."""
        return self.record.measured

    @property
    def file(self) -> str:
        """The name of the file that was imported."""
        return str(self.record.origin.get("file", "without a name"))

    @property
    def maker(self) -> str:
        """The toolkit that made the run or, where nobody said, the name of its file."""
        return str(self.record.origin.get("toolkit") or self.file)

    @property
    def settings(self) -> str:
        """The settings of the run in words; empty where nobody said."""
        return str(self.record.origin.get("settings") or "")

    def as_json(self) -> dict:
        """The object that ``compare --json`` prints below the cell."""
        record = self.record
        return {
            "file": self.file,
            "toolkit": record.origin.get("toolkit"),
            "settings": record.origin.get("settings"),
            "measured": record.measured,
            "difference": self.verdict.difference,
            "verdict": self.verdict.name,
            "why": self.verdict.why,
            "doubts": [asdict(doubt) for doubt in self.doubts],
            "queries": record.queries,
            "missing": record.missing,
            "readings": record.readings,
            "fingerprint": record.fingerprint,
            "origin": record.origin,
        }


def imported_run(cell: Cell, record: Record, nodes: Iterable[Node]) -> ImportedRun:
    """Judge one imported run under the readings that it follows; ``why`` of its verdict names it.

    Args:
        nodes: by which the cell's own recipe measures it; the tolerance follows from them. Empty without one.
    """
    width, doubts = _tolerance(cell, list(nodes)), doubts_about_run(record)
    is_changed = bool(record.readings) or any(doubt.kind == "other data" for doubt in doubts)
    judgement = verdict(cell.printed, [record.measured], scale=SCALE, changed=is_changed, tolerance=width)
    if record.readings and judgement.name == "not comparable":
        choices = ", ".join(f"{reading} is {choice}" for reading, choice in record.readings.items())
        judgement = replace(judgement, why=f"it follows other choices than the row: {choices}")
    run = ImportedRun(record, judgement, doubts)
    made_by = ", ".join(filter(None, [record.origin.get("toolkit"), run.settings]))
    name = f"{run.file} ({made_by})" if made_by else run.file
    why = "; ".join([judgement.why, *map(str, doubts)])
    return replace(run, verdict=replace(judgement, why=f"run by others, {name}: {why}"))


def _tolerance(cell: Cell, nodes: list[Node]) -> Tolerance | None:
    """The class that the row states, else the one of what its recipe makes; None where nothing says.

    Others encoded again what a recipe of ours would train.
    """
    if cell.unit not in UNITS or not (cell.row.tolerance or nodes):
        return None
    default_class = implied_class(nodes).replace("retrained", "re-encoded")
    return tolerance(cell.row.tolerance or default_class, cell.column.measure, unit=cell.unit)
