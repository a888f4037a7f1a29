"""The origin of a run that others made: its source, its toolkit, and the readings that it follows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from repro.errors import check_known
from repro.manifest.cells import Cell
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
        fields = {"toolkit": self.toolkit, "settings": self.settings}
        return {"source": self.source} | {key: text for key, text in fields.items() if text}


def departures(
    cells: Sequence[Cell], choices: Mapping[str, str | None], readings: CellReadings
) -> dict[str, dict[str, str]]:
    """Cell -> the readings of its row that a run follows otherwise than by their default choice.

    A choice by which the row's own ranking in this cell is made as by the default is no departure.

    Raises UsageError for a reading that none of the cells rests on, or a choice that it does not have.
    """
    readings_by_id = {
        identifier: reading for cell in cells for identifier, reading in readings.of(cell).items()
    }
    for identifier, choice in choices.items():
        check_known("unspecified choice of these cells", identifier, valid=readings_by_id)
        valid = readings_by_id[identifier].choices if choice is not None else [None]
        check_known(f"value of {identifier}", choice, valid=valid)
    return {cell.id: dict(_cell_departures(cell, choices, readings)) for cell in cells}


def _cell_departures(
    cell: Cell, choices: Mapping[str, str | None], readings: CellReadings
) -> Iterator[tuple[str, str]]:
    cell_readings = readings.of(cell)
    for identifier in [identifier for identifier in choices if identifier in cell_readings]:
        choice = choices[identifier] or OTHER
        is_default = choice == cell_readings[identifier].default
        if not (is_default or _makes_the_same(cell, identifier, choice, readings)):
            yield identifier, choice


def _makes_the_same(cell: Cell, identifier: str, choice: str, readings: CellReadings) -> bool:
    default = readings.made(cell, {})
    if default is None or identifier not in default.readings or choice == OTHER:
        return False
    measure, alternative = cell.column.measure, readings.made(cell, {identifier: choice})
    return default.work(measure) == alternative.work(measure)
