"""The functions of ``expect``, e.g. ``above("1/ours", "1/bm25", "rr10")``. Paths in another paper begin with
``PAPER:``."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, combinations, pairwise, starmap

from repro.errors import UsageError, check_known
from repro.manifest import papers, printed, schema
from repro.manifest.cells import Cell, cell_of, table_of
from repro.plugins.statements.claim_values import Values
from repro.plugins.statements.claims import FAILS, FUNCTIONS, HOLDS, MissingNumber, Outcomes, format_value
from repro.retrieval.evaluation.p_values import unpaired_t_test


class Places:
    """Finds cells, rows and columns by the paths in a paper's claims."""

    def __init__(self, source: papers.Paper):
        self.paper = source
        self._cells: dict[str, Cell] = {}

    def cell(self, path: str) -> Cell:
        """Return the cell of a path, e.g. ``1/bm25/rr10``. Raises UsageError."""
        if str(path) not in self._cells:
            source, table, cell_path = self._table(path)
            row, _, column = cell_path.partition("/")
            self._cells[path] = cell_of(source, table, row, column)
        return self._cells[path]

    def rows(
        self, path: str, role: str | None = None, group: str | None = None, except_: Collection[str] = ()
    ) -> list[str]:
        """Return the paths of a table's rows, except those whose path, id or system is in ``except_``.
        Reference rows are included only if ``role`` is "reference".
        """
        _, table, _ = self._table(path)
        rows = {(r.id, r.system, f"{path}/{r.id}"): r for r in table.rows}
        names = sorted(set(chain.from_iterable(rows)))
        check_known(f"row of table {path}", *except_, valid=names)
        if group is not None:
            check_known(f"group of table {path}", group, valid=[g.id for g in table.groups])
        return [
            f"{path}/{row.id}"
            for names, row in rows.items()
            if not set(names) & set(except_)
            and (row.role == role if role else row.role != "reference")
            and group in (None, row.group)
        ]

    def columns(self, path: str, except_: Collection[str] = ()) -> list[str]:
        _, table, _ = self._table(path)
        ids = [c.id for c in table.columns]
        check_known(f"column of table {path}", *except_, valid=sorted(ids))
        return [id for id in ids if id not in except_]

    def examples(self, path: str, system: str) -> list[bool]:
        """Return, for each passage of a system in a table of examples, whether it is relevant."""
        _, table, _ = self._table(path)
        ranks = [rank for example in table.entries for rank in example.shown]
        check_known(f"system of table {path}", system, valid=sorted({rank.system for rank in ranks}))
        return [bool(rank.relevant) for rank in ranks if rank.system == system]

    def _table(self, path: str) -> tuple[papers.Paper, schema.Table, str]:
        if not isinstance(path, str):
            raise UsageError(f"{path!r} is not the path of a cell, row or table, e.g. 'table/row/column'.")
        name, colon, inner = path.rpartition(":")
        source = papers.paper(name) if colon else self.paper
        table, _, rest = inner.partition("/")
        return source, table_of(source, table), rest


RELATIONS = {"above": lambda order: order > 0, "not_below": lambda order: order >= 0}
Pair = tuple[Cell, Cell]
Listed = list[str] | str


@dataclass
class Language:
    """The functions for one statement.

    Attributes:
        against: texts on the cells and numbers that contradict the statement.
        seen: the computed numbers as texts.
        tests: p for every compared pair of cells, None without a test.
    """

    places: Places
    values: Values
    against: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    tests: list[float | None] = field(default_factory=list)
    outcomes: Outcomes = field(default_factory=Outcomes)

    def functions(self) -> dict[str, Callable]:
        of_places = {name: getattr(self.places, name) for name in ("rows", "columns")}
        return of_places | {name: getattr(self, name) for name in FUNCTIONS - of_places.keys()}

    def number(self, text: str) -> Decimal | float:
        return Decimal(text) if self.values.is_stated else float(text)

    def _value(self, cell: Cell):
        self.outcomes.used.append(cell)
        return self.values.number(cell)

    def _pairs(self, a: str, b: str, columns: Listed | None) -> list[Pair]:
        if columns is None:
            return [(self.places.cell(a), self.places.cell(b))]
        return [(self.places.cell(f"{a}/{c}"), self.places.cell(f"{b}/{c}")) for c in as_columns(columns)]

    def _rivals(self, row: str, columns: Listed, among: list[str] | None) -> list[Pair]:
        rows = self.places.rows(row.split("/")[0]) if among is None else among
        pairs = [pair for other in rows if other != row for pair in self._pairs(row, other, columns)]
        return [(mine, theirs) for mine, theirs in pairs if has_number(theirs)]

    def holds(self, pairs: list[Pair], relation: str) -> bool:
        return self.all_fit(pairs, lambda mine, theirs: RELATIONS[relation](self.order(mine, theirs)))

    def all_fit(self, pairs: list[Pair], fits: Callable[[Cell, Cell], bool]) -> bool:
        """Return whether all pairs fit.

        Raises MissingNumber without pairs, or if none fails and a number is missing.
        """
        if not pairs:
            raise MissingNumber("there are no rows to compare with")
        missing, states = None, []
        for mine, theirs in pairs:
            try:
                states.append(HOLDS if fits(mine, theirs) else FAILS)
            except MissingNumber as reason:
                states.append(reason.state)
                missing = missing or reason
            if states[-1] == FAILS:
                self.against.append(self._versus(mine, theirs))
            self.outcomes.pairs.append((mine, states[-1]))
        if missing and FAILS not in states:
            raise missing
        return FAILS not in states

    def order(self, mine: Cell, theirs: Cell) -> int:
        """Return 1 if cell ``mine`` is better (for sizes: smaller), 0 if equal and -1 if worse."""
        one, other = (self._value(c) * (100 if c.unit == "fraction" else 1) for c in (mine, theirs))
        self.values.check_order(mine, theirs)
        self.tests.append(self.values.p(mine, theirs))
        sign = (one > other) - (one < other)
        return -sign if mine.smaller_is_better else sign

    def _shown(self, cell: Cell) -> str:
        return f"{cell.table.id}/{cell.row.id}/{cell.column.id} {self.values.shown(cell)}"

    def above(self, a: str, b: str, columns: Listed | None = None) -> bool:
        """Return whether cell a is better than b, or row a in all columns."""
        return self.holds(self._pairs(a, b, columns), "above")

    def not_below(self, a: str, b: str, columns: Listed | None = None) -> bool:
        return self.holds(self._pairs(a, b, columns), "not_below")

    def every(self, rows: list[str], relation: str, other: str, columns: Listed) -> bool:
        """Return whether each row has the relation to the row ``other``. Rows with dashes are skipped."""
        check_known("relation", relation, valid=RELATIONS)
        pairs = [p for row in rows for p in self._pairs(row, other, columns) if has_number(p[0])]
        return self.holds(pairs, relation)

    def same_order(self, rows: list[str], others: list[str], columns: Listed) -> bool:
        """Return whether no two rows are in the opposite order to the ``others`` at the same positions."""
        fours = [(a, b, c, d) for (a, c), (b, d) in combinations(zip(rows, others, strict=True), 2)]
        reversals = [self._is_turned(*four, c) for c in as_columns(columns) for four in fours]
        return not any(reversals)

    def significantly_above(self, a: str, b: str, columns: Listed | None = None) -> bool:
        """Return whether a is significantly above b, by the paper's mark or a test between our rows."""
        return self.all_fit(self._pairs(a, b, columns), self._is_significant)

    def best(self, row: str, columns: Listed, among: list[str] | None = None) -> bool:
        """Return whether a row is strictly the best in every column."""
        return self.holds(self._rivals(row, columns, among), "above")

    def best_or_tied(self, row: str, columns: Listed, among: list[str] | None = None) -> bool:
        """Return whether no row is better in any column."""
        return self.holds(self._rivals(row, columns, among), "not_below")

    def _is_turned(self, a: str, b: str, c: str, d: str, column: str) -> bool:
        first, second = self._pairs(a, b, column)[0], self._pairs(c, d, column)[0]
        is_turned = self.order(*first) * self.order(*second) < 0
        self.outcomes.pairs.append((first[0], FAILS if is_turned else HOLDS))
        if is_turned:
            self.against.append(", but ".join(starmap(self._versus, (first, second))))
        return is_turned

    def _versus(self, mine: Cell, theirs: Cell) -> str:
        return f"{self._shown(mine)} vs. {self._shown(theirs)}"

    def _is_significant(self, mine: Cell, theirs: Cell) -> bool:
        if self.order(mine, theirs) <= 0:
            return False
        if self.values.is_published:
            return is_marked_over(mine, theirs)
        if (p := self.tests[-1]) is None:
            raise MissingNumber(self.values.why_untested(mine))
        return p <= level_of(mine.table)

    def v(self, path: str):
        return self._value(self.places.cell(path))

    def gain(self, a: str, b: str):
        return self._noted(self.v(a) - self.v(b))

    def percent(self, a: str, b: str):
        return self._noted(100 * (self.v(a) - self.v(b)) / self.v(b))

    def student(self, rows: list[str], others: list[str], column: str) -> float:
        """Return p of Student's t-test between two groups of rows. Raises MissingNumber without variance."""
        groups = [[float(self.v(f"{row}/{column}")) for row in group] for group in (rows, others)]
        test = unpaired_t_test(*groups)
        if test is None:
            raise MissingNumber("the runs do not vary, so there is no test")
        self.tests.append(test.p)
        self.seen.append(f"t {test.statistic:.3g} with {test.degrees} degrees of freedom, p {test.p:.3g}")
        return test.p

    def spread(self, path: str) -> float:
        """Return the range of values over seeds in per cent of their mean."""
        cell = self.places.cell(path)
        self.outcomes.used.append(cell)
        values = self.values.over_seeds(cell)
        return self._noted(100 * (max(values) - min(values)) * len(values) / sum(values))

    def relevant(self, table: str, system: str) -> int:
        """Count a system's relevant passages, by ticks or by our qrels."""
        marks = self.places.examples(table, system)
        if not self.values.is_published:
            return int(self.drawn(f"{table}/{system}", "relevant"))
        self.seen.append(f"{system} {sum(marks)} of {len(marks)}")
        return sum(marks)

    def drawn(self, exhibit: str, fact: str) -> float:
        """Return the number ``fact`` that is stored with a drawing."""
        return self._noted(self.values.drawn(f"{self.places.paper.name}/{exhibit}", fact))

    def rounds(self, x, text: str) -> bool:
        """Return whether x rounds to ``text``. A measured x may differ by half a unit of its last decimal."""
        target = Decimal(text)
        decimals = printed.decimals_of(target)
        if self.values.is_stated:
            holds = target in printed.rounded(Decimal(x), decimals)
        else:
            holds = abs(x - float(target)) <= 0.5 * 10**-decimals
        return self._fits(holds, f"{format_value(x)} does not round to {text}")

    def about(self, x, text: str, by) -> bool:
        reason = f"{format_value(x)} is not within {format_value(by)} of {text}"
        return self._fits(abs(x - self.number(text)) <= by, reason)

    def best_count(self, row: str, columns: Listed, among: list[str] | None = None) -> int:
        best, tied = [], []
        for column in as_columns(columns):
            pairs = self._rivals(row, column, among)
            orders = [self.order(*pair) for pair in pairs]
            if not orders:
                raise MissingNumber(f"there are no rows to compare {row}/{column} with")
            if min(orders) > 0:
                best.append(column)
            elif min(orders) == 0:
                labels = [other.row.label for (_, other), n in zip(pairs, orders, strict=True) if n == 0]
                tied.append(f"{column} (with {', '.join(labels)})")
        suffix = f", tied in {', '.join(tied)}" if tied else ""
        self.seen.append(f"strictly best in {len(best)} of {len(as_columns(columns))}{suffix}")
        return len(best)

    def increasing(self, paths: list[str]) -> bool:
        cells = [self.places.cell(path) for path in paths]
        values = [self._value(c) for c in cells]
        pairs = zip(pairwise(values), pairwise(cells), strict=True)
        faults = [cells for (one, other), cells in pairs if other <= one]
        self.against += [" before ".join(map(self._shown, cells)) for cells in faults]
        return not faults

    def _noted(self, number):
        self.seen.append(format_value(number))
        return number

    def _fits(self, holds: bool, reason: str) -> bool:
        if not holds:
            self.against.append(reason)
        return holds


def level_of(table: schema.Table) -> float:
    """Return the level of a table's test, by default 0.05."""
    return (table.test and table.test.level) or 0.05


def significance(table: schema.Table) -> dict[str, tuple[str, ...]]:
    """Return mark -> systems that it claims to beat, e.g. ``{"†": ("bm25",)}``."""
    return {mark: meaning.over for mark, meaning in table.marks.items() if meaning.means == "significant"}


def has_number(cell: Cell) -> bool:
    """Return whether a cell has a published number, or belongs to a figure, a study or a reference row."""
    return cell.is_numeric or cell.is_unpublished


def as_columns(columns: Listed) -> list[str]:
    return [columns] if isinstance(columns, str) else columns


def is_marked_over(mine: Cell, theirs: Cell) -> bool:
    """Return whether a mark of ``mine`` claims to beat ``theirs``. Raises MissingNumber if no mark can."""
    candidates = {m for m, over in significance(mine.table).items() if theirs.row.system in over}
    if not candidates:
        raise MissingNumber(f"no mark of table {mine.table.id} is over {theirs.row.label}")
    return bool(candidates & set(mine.printed.marks))
