"""Statements that cells can confirm: sentences, marks and bold numbers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from itertools import product

from repro.errors import UsageError
from repro.graph import grouped
from repro.manifest import printed, schema, yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper, once_per_paper
from repro.plugins.statements import claim_values, claims
from repro.plugins.statements.deviations import Need, need
from repro.plugins.statements.language import Language, Places, level_of, significance


@dataclass(frozen=True)
class Judgement:
    """The state of a statement under one kind of numbers.

    Attributes:
        state: holds, fails, untested, undecided or not judgeable.
        test: the tests between our rows, e.g. "p 0.01, not corrected", or the deviation that a mark needs.
        measures: (table/column, state) of each measure, if there are several.
    """

    state: str
    why: str = ""
    test: str = ""
    measures: tuple[tuple[str, str], ...] = ()
    cells: tuple[Cell, ...] = ()

    @property
    def differs_by_measure(self) -> str:
        """The measures of a failing statement by state, or "" if all have the same state."""
        by_state = {state: [name for name, s in self.measures if s == state] for _, state in self.measures}
        if self.state != claims.FAILS or len(by_state) < 2:
            return ""
        return "; ".join(f"{state} in {', '.join(by_state[state])}" for state in sorted(by_state))

    def as_json(self) -> dict:
        return {"state": self.state, "why": self.why, "measures": dict(self.measures)}


@dataclass(frozen=True)
class Statement:
    """A sentence of the text, a mark or a bold number.

    Attributes:
        id: e.g. ``paper/claim/id`` or ``paper/table/bold/row/column``.
        cells: the cells of a mark or bold number, its own first.
    """

    id: str
    paper: Paper
    kind: str
    where: str
    says: str
    decide: Callable[[Language], bool]
    expect: str = ""
    note: str = ""
    assumed: str = ""
    tables: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    study: tuple[str, ...] = ()
    need: Need | None = None

    @cached_property
    def as_published(self) -> Judgement:
        return self.judge(claim_values.PublishedValues())

    def judge(self, values: claim_values.Values, places: Places | None = None) -> Judgement:
        """Judge the statement by these values. It is not judgeable if no published number can refute it.

        Raises ManifestError for an invalid expression.
        """
        places = places or self.paper.once(Places, lambda: Places(self.paper))
        found = self._judged(values, places)
        if not values.is_published or found.state != claims.HOLDS:
            return found
        if claim_values.can_fail(lambda changed: self._judged(changed, places).state, found.cells):
            return found
        return replace(found, state=claims.NOT_JUDGEABLE, why="no change of a published number can refute it")

    def _judged(self, values: claim_values.Values, places: Places) -> Judgement:
        language = Language(places, values)
        try:
            state = claims.HOLDS if self.decide(language) else claims.FAILS
            why = _why(language, state)
        except claims.MissingNumber as reason:
            state, why = reason.state, str(reason)
        test = "" if values.is_stated else _test(language, values)
        if values.is_published and self.need:
            test = self.need.in_words + f": {self.need.verdict}" * (self.kind == "mark")
        cells = tuple({c.id: c for c in language.outcomes.used}.values())
        return Judgement(state, why, test, claims.by_measure(language.outcomes.pairs), cells)


def _why(language: Language, state: str) -> str:
    against = "; ".join(dict.fromkeys(language.against)) if state == claims.FAILS else ""
    return "; ".join(dict.fromkeys(filter(None, [against, *(s for s in language.seen if s not in against)])))


@once_per_paper
def statements(source: Paper) -> list[Statement]:
    """Return the sentences of claims.yaml, the marks of significance and the bold numbers of a paper."""
    found = list(_sentences(source))
    for mark, cell, meaning, rivals in marks(source):
        decide = partial(mark_holds, cell=cell, over=rivals)
        found.append(_cell_statement("mark", cell, rivals, meaning, decide, end=f"/{mark}"))
    for cell, rivals in bolds(source):
        decide = partial(Language.holds, pairs=[(cell, other) for other in rivals], relation="not_below")
        found.append(_cell_statement("bold", cell, rivals, f"best of its {cell.table.bold}", decide))
    return found


def _sentences(source: Paper) -> Iterator[Statement]:
    for number, claim in enumerate(claims.claims_of(source).values()):
        place, decide = f"{source.name}/claim/{claim.id}", _decider(source, number, claim)
        details = claim.expect, claim.note, claim.assumed, claim.about
        yield Statement(place, source, "claim", claim.where, claim.says, decide, *details, study=claim.study)


def _decider(source: Paper, number: int, claim: claims.Claim) -> Callable[[Language], bool]:
    def decide(language: Language) -> bool:
        evaluation = claims.Evaluation(language.functions(), language.number, language.against.append)
        if claim.beyond:
            raise claims.MissingNumber(claim.beyond)
        try:
            return claims.all_hold(claim.expect, evaluation, language.outcomes)
        except ArithmeticError as error:
            reason = f"cannot be computed ({type(error).__name__})"
        except (UsageError, TypeError, ValueError) as error:
            reason = str(error)
        raise yaml_file.fault_at(source.folder / "claims.yaml", ("claims", number, "expect"), reason)

    return decide


def _cell_statement(
    kind: str, cell: Cell, rivals: list[Cell], meaning: str, decide, end: str = ""
) -> Statement:
    table, head = cell.table.id, cell.column.label
    place = f"{cell.paper.name}/{table}/{kind}/{cell.row.id}/{cell.column.id}{end}"
    fields = place, cell.paper, kind, f"Table {table}", f"{cell.row.label}, {head}: {meaning}", decide
    return Statement(*fields, tables=(table,), cells=(cell, *rivals), need=need(cell, rivals))


def _test(language: Language, values: claim_values.Values) -> str:
    p_values = [p for p in language.tests if p is not None]
    text = "means only"
    if p_values:
        low, high = min(p_values), max(p_values)
        text = (f"p {low:.3g}" if low == high else f"p {low:.3g} to {high:.3g}") + ", not corrected"
        if len(p_values) < len(language.tests):
            text += f" ({len(p_values)} of {len(language.tests)} pairs)"
    used = language.outcomes.used
    if isinstance(values, claim_values.MeasuredValues) and any(map(values.is_incomparable, used)):
        text += ", with substituted data"
    return text


def marks(source: Paper) -> Iterator[tuple[str, Cell, str, list[Cell]]]:
    """Yield each mark of significance, its cell, its meaning in words, and the cells it claims to beat."""
    cells = [c for c in cells_of(source) if c.table.kind == "results"]
    for c in cells:
        for mark in dict.fromkeys(c.printed.marks):
            if over := significance(c.table).get(mark):
                in_table = [o for o in cells if o.table.id == c.table.id]
                yield mark, c, f"significantly better than {', '.join(over)}", rows_over(mark, c, in_table)


def rows_over(mark: str, cell: Cell, cells: list[Cell]) -> list[Cell]:
    """Return those of ``cells`` that the mark of a cell claims to beat."""
    place, over = (cell.column.id, cell.row.group), significance(cell.table)[mark]
    if cell.row.system in over:
        return []
    return [o for o in cells if (o.column.id, o.row.group) == place and o.row.system in over]


def bolds(source: Paper) -> Iterator[tuple[Cell, list[Cell]]]:
    """Yield every bold number, with the other published numbers among which it should be the best."""
    for table in source.manifest.tables:
        if table.kind == "results" and table.bold not in ("unknown", "none"):
            cells = [c for c in cells_of(source, (table,)) if c.is_numeric]
            for c in cells:
                if c.printed.bold:
                    yield c, [o for o in cells if o is not c and bold_scope(o) == bold_scope(c)]


def mark_holds(language: Language, cell: Cell, over: list[Cell]) -> bool:
    """Return whether a cell beats all cells ``over``, and ours also significantly. Raises MissingNumber."""
    if not over:
        raise claims.MissingNumber("the paper has no such row in its group")
    if not language.holds([*product([cell], over)], "above"):
        return False
    if language.values.is_published:
        return True
    level = level_of(cell.table)
    if None in language.tests:
        raise claims.MissingNumber(language.values.why_untested(cell))
    weak = [p for p in filter(None, language.tests) if p > level]
    language.against.extend(f"p {p:.3g}, not corrected, is above {level}" for p in weak)
    return not weak


def arithmetic_faults(source: Paper) -> Iterator[tuple[str, str]]:
    """Yield (cell id, fault) for each wrong average, difference and bold number."""
    for table in source.manifest.tables:
        if table.kind == "results":
            cells = {(c.row.id, c.column.id): c for c in cells_of(source, (table,))}
            yield from ((c.id, fault) for c in cells.values() for fault in _arithmetic_faults(c, cells))
            if table.bold not in ("unknown", "none"):
                yield from _bold_faults(table, cells.values())


def _arithmetic_faults(cell: Cell, cells: dict[tuple[str, str], Cell]) -> Iterator[str]:
    parts, base = [cells[cell.row.id, c] for c in cell.column.mean_of], cell.table.delta_from
    if parts and all(part.is_numeric for part in (cell, *parts)):
        mean = sum((part.number for part in parts), Decimal()) / len(parts)
        if cell.printed.value not in printed.rounded(mean, cell.printed.decimals):
            yield f"the mean of its {len(parts)} cells is {mean:.4f}, but the paper says {cell.printed.plain}"
    if cell.printed.delta is not None and base is not None:
        number = cells[base, cell.column.id].number
        if cell.number - number != cell.printed.delta:
            yield f"{cell.printed.plain} - {number} is not {cell.printed.delta}"


def _bold_faults(table: schema.Table, cells: Iterable[Cell]) -> Iterator[tuple[str, str]]:
    for members in grouped((bold_scope(c), c) for c in cells if c.is_numeric).values():
        best, has_bold = max(c.number for c in members), any(c.printed.bold for c in members)
        for cell in members:
            if has_bold and cell.printed.bold != (cell.number == best):
                state = f"bold, but {best} is" if cell.printed.bold else "not bold, but it is"
                yield cell.id, f"{cell.printed.plain} is {state} the best of its {table.bold}"


def bold_scope(cell: Cell) -> tuple:
    """Return a key that is equal for cells that compete for bold in a table."""
    scopes = {"group": (cell.column.id, cell.row.group), "column": (cell.column.id,), "row": (cell.row.id,)}
    return scopes.get(cell.table.bold, ())
