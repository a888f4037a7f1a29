"""Relations that hold between rows, each judged column by column."""

from dataclasses import dataclass
from itertools import combinations

from repro.errors import unknown
from repro.judging.claims.measures import FAILS, HOLDS
from repro.judging.claims.orders import RELATIONS, Listed, Orders, as_columns, has_number
from repro.manifest.cells import Cell
from repro.manifest.claim_expressions import MissingNumber

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
