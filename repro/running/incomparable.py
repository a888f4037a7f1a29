"""The cells on which no verdict will be given, since a reading in force is not the default."""

from collections.abc import Mapping, Sequence

from repro.running.measurement import Measurement
from repro.running.plan import Plan


def incomparable_cells(plan: Plan) -> dict[tuple[str, str], set[str]]:
    """(reading, choice) -> the cells that it makes not comparable; nothing below full scale."""
    cells: dict[tuple[str, str], set[str]] = {}
    for m in plan.measurements if plan.scale.compares_with_paper else ():
        for departure in () if _is_authors_model(m) else m.departures.items():
            cells.setdefault(departure, set()).add(m.cell.id)
    return cells


def incomparable_by_stand_ins(plan: Plan, remedies: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """``reading=choice`` of a stand-in -> the cells that wait for what it would stand in for.

    Args:
        remedies: fingerprint -> what to do about the obstacles of a node.
    """
    cells: dict[str, set[str]] = {}
    for choice in dict.fromkeys(plan.machine.stand_ins.values()):
        for m in plan.measurements:
            if any(f"--reading {choice}" in remedy for p in m.parts for remedy in remedies[p.fingerprint]):
                cells.setdefault(choice, set()).add(m.cell.id)
    return cells


def _is_authors_model(m: Measurement) -> bool:
    """Whether the departures are those alone by which a row is measured with its authors' own model."""
    readings = m.cell.paper.readings
    return all(r in readings and choice in readings[r].released for r, choice in m.departures.items())
