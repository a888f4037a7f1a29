"""Cells beside cells: which is better, what contradicts a relation, which tests there are for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

from repro.errors import unknown
from repro.manifest.cells import Cell
from repro.plugins.statements.claim_expressions import MissingNumber
from repro.plugins.statements.measures import FAILS, HOLDS, UNTESTED, Outcomes
from repro.plugins.statements.places import Places
from repro.plugins.statements.values import Values

RELATIONS = {"above": lambda order: order > 0, "not_below": lambda order: order >= 0}
Pair = tuple[Cell, Cell]
Listed = list[str] | str


@dataclass
class Orders:
    """Comparisons made for one statement.

    Attributes:
        against: cells that contradict the statement, and numbers that do not fit.
        seen: numbers and counts that it speaks of.
        tests: p, or None without a test, for every pair of cells compared.
        outcomes: cells whose numbers were taken, and what came out for every pair of them.
    """

    places: Places
    values: Values
    against: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    tests: list[float | None] = field(default_factory=list)
    outcomes: Outcomes = field(default_factory=Outcomes)

    def _value(self, cell: Cell):
        """The number in a cell, which counts as used. Raises MissingNumber where there is none."""
        self.outcomes.used.append(cell)
        return self.values.number(cell)

    def _pairs(self, a: str, b: str, columns: Listed | None) -> list[Pair]:
        if columns is None:
            return [(self.places.cell(a), self.places.cell(b))]
        return [(self.places.cell(f"{a}/{c}"), self.places.cell(f"{b}/{c}")) for c in as_columns(columns)]

    def _rivals(self, row: str, columns: Listed, among: list[str] | None) -> list[Pair]:
        """The row's cells beside those of the others in which the paper has a number."""
        rows = self.places.rows(row.split("/")[0]) if among is None else among
        pairs = [pair for other in rows if other != row for pair in self._pairs(row, other, columns)]
        return [(mine, theirs) for mine, theirs in pairs if has_number(theirs)]

    def holds(self, pairs: list[Pair], relation: str) -> bool:
        """Whether the relation holds of all pairs; one that contradicts it decides, whatever is missing."""
        return self.all_fit(pairs, lambda mine, theirs: RELATIONS[relation](self.order(mine, theirs)))

    def all_fit(self, pairs: list[Pair], fits: Callable[[Cell, Cell], bool]) -> bool:
        """Whether all pairs fit; what contradicts is told, and what came out is noted by column."""
        if not pairs:
            raise MissingNumber("there is nothing to compare with")
        missing, states = None, []
        for mine, theirs in pairs:
            try:
                states.append(HOLDS if fits(mine, theirs) else FAILS)
            except MissingNumber as reason:
                states.append(UNTESTED)
                missing = missing or reason
            if states[-1] == FAILS:
                self.against.append(f"{self._shown(mine)} beside {self._shown(theirs)}")
            self.outcomes.pairs.append((mine, states[-1]))
        if missing and FAILS not in states:
            raise missing
        return FAILS not in states

    def order(self, mine: Cell, theirs: Cell) -> int:
        """1 where mine is better, 0 where equal, -1 where worse; sizes are better when smaller."""
        one, other = (self._value(c) * (100 if c.unit == "fraction" else 1) for c in (mine, theirs))
        self.values.check_order(mine, theirs)
        self.tests.append(self.values.p(mine, theirs))
        sign = (one > other) - (one < other)
        return -sign if mine.smaller_is_better else sign

    def _shown(self, cell: Cell) -> str:
        return f"{cell.table.id}/{cell.row.id}/{cell.column.id} {self.values.told(cell)}"


def has_number(cell: Cell) -> bool:
    """Whether the paper has a number here or, in a figure or study, a place for one."""
    return cell.is_numeric or cell.is_unpublished


def as_columns(columns: Listed) -> list[str]:
    """The columns as a list, where one alone may stand for itself."""
    return [columns] if isinstance(columns, str) else columns


LEVEL = 0.05  # where a caption names no level


@dataclass
class Relations(Orders):
    """The functions of the language that are relations between rows, or between cells."""

    def above(self, a: str, b: str, columns: Listed | None = None) -> bool:
        """Whether a is better than b, in one cell or in every listed column."""
        return self.holds(self._pairs(a, b, columns), "above")

    def not_below(self, a: str, b: str, columns: Listed | None = None) -> bool:
        """Whether a is at least as good as b, in one cell or in every listed column."""
        return self.holds(self._pairs(a, b, columns), "not_below")

    def every(self, rows: list[str], relation: str, other: str, columns: Listed) -> bool:
        """Whether the relation holds of each listed row to another; dashes of listed rows are passed over."""
        if relation not in RELATIONS:
            raise unknown("relation", relation, RELATIONS)
        pairs = [p for row in rows for p in self._pairs(row, other, columns) if has_number(p[0])]
        return self.holds(pairs, relation)

    def same_order(self, rows: list[str], others: list[str], columns: Listed) -> bool:
        """Whether no two rows stand in one order and those in their places among ``others`` in the other."""
        reversals = [self._is_turned(*four, c) for c in as_columns(columns) for four in _fours(rows, others)]
        return not any(reversals)

    def significantly_above(self, a: str, b: str, columns: Listed | None = None) -> bool:
        """Whether row ``a`` is above ``b``, and a mark of the paper or a test between our rows says so."""
        return self.all_fit(self._pairs(a, b, columns), self._is_significant)

    def best(self, row: str, columns: Listed, among: list[str] | None = None) -> bool:
        """Whether a row is strictly the best of its table, or of the listed rows, in every column."""
        return self.holds(self._rivals(row, columns, among), "above")

    def best_or_tied(self, row: str, columns: Listed, among: list[str] | None = None) -> bool:
        """Whether no row is better, in every column."""
        return self.holds(self._rivals(row, columns, among), "not_below")

    def _is_turned(self, a: str, b: str, c: str, d: str, column: str) -> bool:
        first, second = self._pairs(a, b, column)[0], self._pairs(c, d, column)[0]
        is_turned = self.order(*first) * self.order(*second) < 0
        self.outcomes.pairs.append((first[0], FAILS if is_turned else HOLDS))
        if is_turned:
            parts = [f"{self._shown(mine)} beside {self._shown(theirs)}" for mine, theirs in (first, second)]
            self.against.append(", but ".join(parts))
        return is_turned

    def _is_significant(self, mine: Cell, theirs: Cell) -> bool:
        if self.order(mine, theirs) <= 0:
            return False
        if self.values.is_published:
            return is_marked_over(mine, theirs)
        if (p := self.tests[-1]) is None:
            raise MissingNumber(self.values.why_untested(mine))
        return p <= ((mine.table.test and mine.table.test.level) or LEVEL)


def _fours(rows: list[str], others: list[str]) -> list[tuple[str, str, str, str]]:
    """Every two of the rows with the two of the others in their places."""
    return [(a, b, c, d) for (a, c), (b, d) in combinations(zip(rows, others, strict=True), 2)]


def is_marked_over(mine: Cell, theirs: Cell) -> bool:
    """Whether a mark says that one cell is significantly better. Raises MissingNumber where no mark could."""
    marks = {m: meaning.over for m, meaning in mine.table.marks.items() if meaning.means == "significant"}
    candidates = {mark for mark, over in marks.items() if theirs.row.system in over}
    if not candidates:
        raise MissingNumber(f"no mark of table {mine.table.id} speaks of {theirs.row.label}")
    return bool(candidates & set(mine.printed.marks))
