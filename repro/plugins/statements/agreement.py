"""One system's value on one data set, printed in several places: where the digits differ."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.decimals import half_unit
from repro.manifest.papers import Paper
from repro.plugins.statements.findings import Finding
from repro.plugins.statements.notes import Notes

Scored = tuple[str, str]  # data set, measure
_SUCCESS = "Success@"  # printed under the name of recall; on nearly all queries of these sets the same number


def disagreements(sources: list[Paper], notes: Notes) -> Iterator[Finding]:
    """A finding for every configuration of which published values of one measure cannot be one number.

    Fractions are compared as per cent. Whoever prints another number than the makers of a system is in error;
    where nobody is its maker it is a doubt.
    """
    configurations: dict[str, dict[Scored, list[Cell]]] = {}
    for source in sources:
        for cell in numeric_cells(source):
            if cell.column.dataset and cell.column.measure:
                cells_by_measure = configurations.setdefault(notes.configuration(cell), {})
                cells_by_measure.setdefault(dataset_and_measure(cell), []).append(cell)
    for name, by_measure in configurations.items():
        contradictions = {key: cells for key, cells in by_measure.items() if _disagree(cells)}
        if contradictions:
            yield _finding(name, contradictions)


def dataset_and_measure(cell: Cell) -> Scored:
    """The data set and measure of a cell; success counts as recall, under whose name it is published."""
    return cell.column.dataset, cell.column.measure.replace(_SUCCESS, "R@")


def _disagree(cells: list[Cell]) -> bool:
    return any(numbers_differ(a, b) for a, b in combinations(cells, 2))


def numbers_differ(a: Cell, b: Cell) -> bool:
    """Whether two published numbers cannot be one.

    Those of equal precision are compared by their digits, others differ where their roundings part.
    """
    (one, half), (other, other_half) = _interval(a), _interval(b)
    return one != other if half == other_half else abs(one - other) > half + other_half


def _interval(cell: Cell) -> tuple[Decimal, Decimal]:
    """Value and half a unit of its last digit, as per cent."""
    factor = 100 if cell.unit == "fraction" else 1
    return cell.printed.value * factor, half_unit(cell.printed.decimals) * factor


def _finding(configuration: str, contradictions: dict[Scored, list[Cell]]) -> Finding:
    """The finding on one configuration, of the paper that contradicts the makers of the system, if one does.

    It is an error where the makers' own number is among them, or where one paper contradicts itself and did
    not measure again what it cites; else it is a doubt.
    """
    all_cells = [cell for cells in contradictions.values() for cell in cells]
    makers = [c for c in all_cells if c.role == "ours"]
    subject = next((c for c in all_cells if _is_misquoted(c, makers)), all_cells[0])
    has_several_papers = len({c.paper.name for c in all_cells}) > 1
    measures = ", and of ".join(f"{measure} on {dataset}" for dataset, measure in contradictions)
    return Finding(
        "error" if makers or not (has_several_papers or _is_run_again(all_cells)) else "doubt",
        "values",
        "another paper" if has_several_papers else "paper",
        subject.paper.name,
        f"values/{configuration}",
        tuple(c.id for c in all_cells),
        tuple(c.printed.plain for c in all_cells),
        f"{configuration} has several values of {measures}",
        "; ".join(_definitions(contradictions)),
    )


def _is_misquoted(cell: Cell, makers: list[Cell]) -> bool:
    return any(
        dataset_and_measure(cell) == dataset_and_measure(m) and numbers_differ(cell, m) for m in makers
    )


def _is_run_again(cells: list[Cell]) -> bool:
    """Whether a number of others stands beside one that the paper's authors measured again."""
    return {"cited", "rerun"} <= {c.role for c in cells}


def _definitions(contradictions: dict[Scored, list[Cell]]) -> list[str]:
    """Sentences on the measures that stand for several, each once."""
    definitions = ((measure, _definition(cells)) for (_, measure), cells in contradictions.items())
    return sorted({f"{measure} is {words}" for measure, words in definitions if words})


def _definition(cells: list[Cell]) -> str:
    """The measures that one name stands for, where they are several."""
    measures = sorted({c.column.measure for c in cells})
    return f"defined as {' and '.join(measures)}" if len(measures) > 1 else ""
