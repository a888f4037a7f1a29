"""The functions that ``expect`` may call, on published or on our own numbers.

Relations tell the cells that contradict them, and the tests between the rows they compared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from repro.manifest.arithmetic import rounded
from repro.manifest.decimals import decimals_of
from repro.plugins.statements.claim_expressions import FUNCTIONS, MissingNumber, format_value
from repro.plugins.statements.orders import Listed, Relations, as_columns
from repro.retrieval.evaluation.p_values import unpaired_t_test


@dataclass
class Language(Relations):
    """The functions for one statement, with what they saw."""

    def functions(self) -> dict[str, Callable]:
        """The functions by their names in the language."""
        methods = FUNCTIONS - {"rows", "columns"}
        return {name: getattr(self, name) for name in methods} | {
            "rows": self.places.rows,
            "columns": self.places.columns,
        }

    def number(self, text: str) -> Decimal | float:
        """A written number in the values' kind."""
        return Decimal(text) if self.values.is_stated else float(text)

    # numbers

    def v(self, path: str):
        """The value of a cell."""
        return self._value(self.places.cell(path))

    def gain(self, a: str, b: str):
        """v(a) - v(b)."""
        return self._tell(self.v(a) - self.v(b))

    def percent(self, a: str, b: str):
        """How much a is above b, in per cent of b."""
        return self._tell(100 * (self.v(a) - self.v(b)) / self.v(b))

    def mean(self, paths: list[str]):
        """Arithmetic mean of cells."""
        return self._tell(sum(map(self.v, paths)) / len(paths))

    def student(self, rows: list[str], others: list[str], column: str) -> float:
        """p of Student's t-test between two groups of rows, such as runs with several seeds each."""
        groups = [[float(self.v(f"{row}/{column}")) for row in group] for group in (rows, others)]
        test = unpaired_t_test(*groups)
        if test is None:
            raise MissingNumber("without a variance over the runs there is no test")
        self.tests.append(test.p)
        self.seen.append(f"t {test.statistic:.3g} with {test.degrees} degrees of freedom, p {test.p:.3g}")
        return test.p

    def spread(self, path: str) -> float:
        """The range of values over seeds, from the lowest to the highest, in per cent of their mean."""
        cell = self.places.cell(path)
        self.outcomes.used.append(cell)
        values = self.values.over_seeds(cell)
        return self._tell(100 * (max(values) - min(values)) * len(values) / sum(values))

    def relevant(self, table: str, system: str) -> int:
        """The number of a table's examples in which the passage shown for a system is marked relevant."""
        marks = self.places.examples(table, system)
        if not self.values.is_published:
            raise MissingNumber(f"table {table} shows passages; no others were ever judged")
        self.seen.append(f"{system} {sum(marks)} of {len(marks)}")
        return sum(marks)

    def drawn(self, exhibit: str, fact: str) -> float:
        """A number that the suite computes beside a drawing of the paper."""
        return self._tell(self.values.drawn(f"{self.places.paper.name}/{exhibit}", fact))

    def rounds(self, x, text: str) -> bool:
        """Whether x at the text's decimals is the text; of what is measured, x within half a unit."""
        target = Decimal(text)
        decimals = decimals_of(target)
        if self.values.is_stated:
            holds = target in rounded(Decimal(x), decimals)
        else:
            holds = abs(x - float(target)) <= 0.5 * 10**-decimals
        return self._fits(holds, f"{format_value(x)} does not round to {text}")

    def about(self, x, text: str, by) -> bool:
        """Whether x is within ``by`` of the text's number."""
        return self._fits(
            abs(x - self.number(text)) <= by, f"{format_value(x)} is not within {format_value(by)} of {text}"
        )

    # ranks and courses

    def best_count(self, row: str, columns: Listed, among: list[str] | None = None) -> int:
        """Count the columns in which a row is strictly the best."""
        return self._standings(row, columns, among)[0]

    def tied_count(self, row: str, columns: Listed, among: list[str] | None = None) -> int:
        """Count the columns in which a row is the best only together with another."""
        return self._standings(row, columns, among)[1]

    def rank(self, row: str, column: str, among: list[str] | None = None) -> int:
        """The rank of a row, 1 for the best; rows of equal value share the better rank."""
        return 1 + sum(self.order(*pair) < 0 for pair in self._rivals(row, column, among))

    def increasing(self, paths: list[str]) -> bool:
        """Whether each value is larger than the one before."""
        return self._monotonic(paths, 1)

    def decreasing(self, paths: list[str]) -> bool:
        """Whether each value is smaller than the one before."""
        return self._monotonic(paths, -1)

    def argbest(self, row: str, columns: list[str]) -> str | None:
        """The column in which a row is highest; None when two share it."""
        values = {column: self.v(f"{row}/{column}") for column in columns}
        top = [column for column, value in values.items() if value == max(values.values())]
        self.seen.append(f"highest in {' and '.join(top)}")
        return top[0] if len(top) == 1 else None

    def _tell(self, number):
        self.seen.append(format_value(number))
        return number

    def _fits(self, holds: bool, reason: str) -> bool:
        if not holds:
            self.against.append(reason)
        return holds

    def _standings(self, row: str, columns: Listed, among: list[str] | None) -> tuple[int, int]:
        best_columns, tied_columns = [], []
        for column in as_columns(columns):
            pairs = self._rivals(row, column, among)
            orders = [self.order(*pair) for pair in pairs]
            if not orders:
                raise MissingNumber(f"there is nothing to compare {row}/{column} with")
            labels = [pair[1].row.label for pair, order in zip(pairs, orders, strict=True) if order == 0]
            if min(orders) > 0:
                best_columns.append(column)
            elif min(orders) == 0:
                tied_columns.append(f"{column} (with {', '.join(labels)})")
        suffix = f"; tied in {', '.join(tied_columns)}" if tied_columns else ""
        self.seen.append(f"strictly best in {len(best_columns)} of {len(as_columns(columns))}{suffix}")
        return len(best_columns), len(tied_columns)

    def _monotonic(self, paths: list[str], sign: int) -> bool:
        cells = [self.places.cell(path) for path in paths]
        values = [self._value(c) for c in cells]
        faults = [i for i in range(1, len(cells)) if (values[i] - values[i - 1]) * sign <= 0]
        self.against += [f"{self._shown(cells[i - 1])} before {self._shown(cells[i])}" for i in faults]
        return not faults
