"""The origin of a run that others made: its source, its toolkit, and the readings that it follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repro.errors import check_known
from repro.manifest.cells import Cell
from repro.manifest.schema import Reading
from repro.running.cell_readings import CellReadings

OTHER = "none of its choices"  # of a reading


@dataclass(frozen=True)
class Origin:
    """The source, toolkit and readings of a run that others made.

    Attributes:
        source: where the file is from, in words.
        toolkit: the software that made the run; ``settings`` are its parameters, in words.
        readings: reading -> the choice that the run follows; None for another than the reading has.
    """

    source: str | None = None
    toolkit: str | None = None
    settings: str | None = None
    readings: Mapping[str, str | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, str | None]:
        """The fields of a record that describe it; toolkit and settings where they are known."""
        known = {"toolkit": self.toolkit, "settings": self.settings}
        return {"source": self.source} | {key: text for key, text in known.items() if text}


def departures(
    cells: Sequence[Cell], choices: Mapping[str, str | None], readings: CellReadings
) -> dict[str, dict[str, str]]:
    """Cell -> the readings of its row that a run follows otherwise than by their default choice.

    Raises UsageError for a reading that none of the cells rests on, or a choice that it does not have.
    """
    of_cells = {cell.id: readings.of(cell) for cell in cells}
    known = {identifier: reading for of_cell in of_cells.values() for identifier, reading in of_cell.items()}
    for identifier, choice in choices.items():
        check_known("reading of these cells", identifier, valid=known)
        valid = known[identifier].choices if choice is not None else [None]
        check_known(f"choice of reading {identifier}", choice, valid=valid)
    return {cell: _departing(asked, choices) for cell, asked in of_cells.items()}


def _departing(asked: Mapping[str, Reading], choices: Mapping[str, str | None]) -> dict[str, str]:
    others = {r: choice or OTHER for r, choice in choices.items() if r in asked}
    return {r: choice for r, choice in others.items() if choice != asked[r].default}
