"""The numbers a claim is judged by: those that the paper published, or ours of one scale."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from repro.judging.compared import Comparison
from repro.manifest.cells import Cell
from repro.manifest.claim_expressions import NoNumber


class Values(Protocol):
    """Numbers to judge by; ``is_published`` decides what equality with a rounded number means."""

    is_published: bool

    def number(self, cell: Cell) -> Decimal | float:
        """The value of a cell in the paper's unit. Raises NoNumber."""

    def p(self, one: Cell, other: Cell) -> float | None:
        """p of the test between two rows in one column, None without one."""


class Published:
    """The numbers that the paper published."""

    is_published = True

    def number(self, cell: Cell) -> Decimal:
        """The printed number, of a bound the bound. Raises NoNumber at a dash or words."""
        if cell.printed.value is None:
            what = "plots" if cell.table.kind == "figure" else "prints"
            raise NoNumber(f"{cell.id} {what} no number")
        return cell.printed.value

    def p(self, one: Cell, other: Cell) -> None:
        """None: papers publish no scores by query."""
        return None


@dataclass(frozen=True)
class Measured:
    """Our numbers of one scale, as ``repro compare`` judges them.

    Records of an older graph, of another choice of a reading, and runs of others, are not used.
    """

    comparison: Comparison
    is_published: bool = field(default=False, init=False)

    def __post_init__(self):
        known = {c.cell.id: c for c in self.comparison.cells if c.current and c.records}
        object.__setattr__(self, "_known", known)

    def number(self, cell: Cell) -> float:
        """The mean over seeds. Raises NoNumber where nothing was measured."""
        if cell.id not in self._known:
            raise NoNumber(f"{cell.id} is not measured")
        return self._known[cell.id].measured

    def p(self, one: Cell, other: Cell) -> float | None:
        """Two-sided paired t-test over the queries, as stored beside the runs of one table."""
        if (one.table.id, one.column.id, one.paper) != (other.table.id, other.column.id, other.paper):
            return None
        key = one.paper.name, one.table.id, one.column.dataset or ""
        found = self.comparison.tests.get(key, {}).get("measures", {}).get(one.column.measure)
        if not found or not {one.row.id, other.row.id} <= set(found["names"]):
            return None
        return found["p"][found["names"].index(one.row.id)][found["names"].index(other.row.id)]

    def is_modified(self, cell: Cell) -> bool:
        """True where a substitute for the original data went into the number."""
        return cell.id in self._known and self._known[cell.id].verdict.name == "modified"
