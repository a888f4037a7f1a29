"""One system's value on one data set, printed in several places: where the digits differ."""

from decimal import Decimal
from itertools import combinations

from repro.judging.audit.findings import Finding
from repro.judging.audit.notes import Notes
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import Paper

_SUCCESS = "Success@"  # printed under the name of recall; on nearly all queries of these sets the same number


def disagreements(sources: list[Paper], notes: Notes) -> list[Finding]:
    """A finding for every configuration, data set and measure whose printed values cannot be one number.

    Fractions are compared as per cent. Whoever prints another number than the makers of a system is in error;
    where nobody is its maker it is a doubt.
    """
    alike: dict[tuple[str, str, str], list[Cell]] = {}
    for source in sources:
        for cell in numeric_cells(source):
            if cell.column.dataset and cell.column.measure:
                measure = cell.column.measure.replace(_SUCCESS, "R@")
                key = notes.configuration(cell), cell.column.dataset, measure
                alike.setdefault(key, []).append(cell)
    return [
        _finding(*key, cells)
        for key, cells in alike.items()
        if any(_differ(a, b) for a, b in combinations(cells, 2))
    ]


def _differ(a: Cell, b: Cell) -> bool:
    """Two numbers of equal precision by their digits, of unequal precision where their roundings part."""
    (one, half), (other, other_half) = _interval(a), _interval(b)
    return one != other if half == other_half else abs(one - other) > half + other_half


def _interval(cell: Cell) -> tuple[Decimal, Decimal]:
    """Value and half a unit of its last digit, as per cent."""
    factor = 100 if cell.unit == "fraction" else 1
    return cell.printed.value * factor, Decimal(5).scaleb(-cell.printed.decimals - 1) * factor


def _finding(configuration: str, dataset: str, measure: str, cells: list[Cell]) -> Finding:
    makers = [c for c in cells if c.role == "ours"]
    wrong = next((c for c in cells if any(_differ(c, m) for m in makers)), cells[0])
    definitions = sorted({c.column.measure for c in cells})
    unlike = f"defined as {' and '.join(definitions)}" if len(definitions) > 1 else ""
    severity = "error" if makers or len({c.paper.name for c in cells}) == 1 else "doubt"
    places, values = tuple(c.id for c in cells), tuple(c.printed.plain for c in cells)
    says = f"{configuration} has several values of {measure} on {dataset}"
    return Finding(severity, "values", wrong.paper.name, places, values, says, unlike)
