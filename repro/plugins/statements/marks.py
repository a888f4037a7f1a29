"""Findings on bold numbers and marks of significance, e.g. a mark over a cited row."""

from collections.abc import Iterator
from itertools import product

from repro.graph import grouped
from repro.hooks import CellPart
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.plugins.statements import claims
from repro.plugins.statements.deviations import need
from repro.plugins.statements.findings import Finding, Findings
from repro.plugins.statements.language import significance
from repro.plugins.statements.statements import bolds, marks, rows_over, statements

Marked = tuple[str, Cell, list[Cell]]  # mark, cell, rivals


def of_marks(source: Paper) -> Findings:
    """Yield findings on ties of bold numbers, unsupported or implausible marks, and large unmarked leads."""
    yield from _ties(source)
    yield from _unsupported_marks(source)
    marked = [(mark, cell, rivals) for mark, cell, _, rivals in marks(source)]
    for of_table in grouped((each[1].table.id, each) for each in marked).values():
        for of_column in grouped((each[1].column.id, each) for each in of_table).values():
            yield from _implausible_marks(source, of_column)
        yield from _unmarked_leads(source, of_table)
        yield from _certain_leads(source, of_table)


class MarksOfCell(CellPart):
    def __init__(self, cell: Cell):
        needs = {mark: need(one, rivals) for mark, one, _, rivals in marks(cell.paper) if one.id == cell.id}
        self._needs = {mark: wanted for mark, wanted in needs.items() if wanted and wanted.is_implausible}
        self.facts = {"implausible_marks": {mark: wanted.as_json() for mark, wanted in self._needs.items()}}

    def below_published(self) -> Iterator[tuple[str, str]]:
        for mark, wanted in self._needs.items():
            yield f"mark {mark}", f"implausible over {wanted.over.row.label}: {wanted.in_words}"


def of_words(source: Paper) -> Findings:
    """Yield findings on significance claimed without a test: doubts if any table has one, otherwise notes."""
    tested = {t.id for t in source.manifest.tables if t.test}
    severity = "doubt" if tested else "note"
    by_id = {s.id: s for s in statements(source) if s.kind == "claim"}
    for claim in claims.claims_of(source).values():
        place, reason = f"{source.name}/claim/{claim.id}", ""
        if claim.calls_significant:
            untested = [_table_name(t) for t in claim.about if t not in tested]
            reason = ", ".join(f"{table} names no test" for table in untested) or "no mark confirms it"
        elif "significantly_above(" in claim.expect:
            judgement = by_id[place].as_published
            reason = judgement.why if judgement.state == claims.UNTESTED else ""
        if reason:
            says = f"{claim.where}: the text calls a difference significant, or not, but {reason}"
            id, placed = f"claim/{claim.id}/significance", [(place, claim.says)]
            yield Finding.of(source, severity, "claim", id, placed, says, claim.note)


def _table_name(table: str) -> str:
    return f"Table {table}" if table[0].isdigit() else table.replace("-", " ").capitalize()


def _ties(source: Paper) -> Findings:
    for cell, rivals in bolds(source):
        equals = [o for o in rivals if o.printed.value == cell.printed.value and not o.printed.bold]
        if equals:
            placed, says = _texts(cell, *equals), "the same number is bold in one place only"
            id = f"{cell.table.id}/tie/{cell.row.id}/{cell.column.id}"
            yield Finding.of(source, "note", "tie", id, placed.items(), says)


def _texts(*cells: Cell) -> dict[str, str]:
    return {c.id: c.text for c in cells}


def _unsupported_marks(source: Paper) -> Findings:
    for mark, cell, _, rivals in marks(source):
        reasons = []
        if cell.table.test is None:
            reasons.append("its table names no test")
        if not rivals:
            reasons.append("its group has none of the rows that it is over")
        reasons += [f"{o.row.label} has no number there" for o in rivals if not o.is_numeric]
        cited = "is cited, so there are no scores by query"
        if cell.role == "cited":
            reasons.append(f"the row {cited}")
        reasons += [f"{o.row.label} {cited}" for o in rivals if o.role == "cited"]
        if reasons:
            says = f"{mark}: {', '.join(reasons)}"
            id = f"{cell.table.id}/test/{cell.row.id}/{cell.column.id}/{mark}"
            yield Finding.of(source, "doubt", "mark", id, [(cell.id, cell.text)], says)


def _implausible_marks(source: Paper, marked: list[Marked]) -> Findings:
    needs = [(mark, cell, need(cell, rivals)) for mark, cell, rivals in marked]
    found = [(mark, cell, wanted) for mark, cell, wanted in needs if wanted and wanted.is_implausible]
    if not found:
        return
    _, first, wanted = found[0]
    known = wanted.known
    assert known is not None
    leads = ", ".join(
        f"{each.sd:.3f} ({mark} of {cell.row.label}, {cell.number} over {each.over.number})"
        for mark, cell, each in found
    )
    says = (
        f"p <= {wanted.level:g} on {wanted.queries} queries needs a standard deviation of differences of at "
        f"most {leads}. This is less than half of {known.sd:.3f}, the smallest one known for two systems "
        f"({' and '.join(known.runs)}, which differ by {known.lead:.3f} on {known.dataset})"
    )
    why = "; ".join(filter(None, ["an unpaired t-test needs even less", wanted.instead]))
    placed = _texts(*(cell for _, cell, _ in found)).items()
    id = f"{first.table.id}/deviation/{first.column.id}"
    severity = "note" if wanted.instead else "doubt"
    yield Finding.of(source, severity, "mark", id, placed, says, why, against="third party")


def _unmarked_leads(source: Paper, marked: list[Marked]) -> Findings:
    leads, placed = list[str](), dict[str, str]()
    for key, group in grouped((_scope(each), each) for each in marked).items():
        mark, cell, rivals = min(group, key=lambda each: each[1].number)
        least, over = need(cell, rivals), [rival.row.id for rival in rivals]
        in_scope = (o for o in cells_of(source, (cell.table,)) if _scope((mark, o, rivals)) == key)
        larger = [o for o in in_scope if _lacks(o, mark, over) and o.number >= cell.number]
        if least and larger:
            lead, *others = (f"{c.row.label} by {c.number - least.over.number}" for c in (cell, *larger))
            leads.append(
                f"{cell.column.label}: {lead} over {least.over.row.label} with {mark}, which needs a "
                f"deviation of at most {least.sd:.3f}, and {' and '.join(others)} without"
            )
            placed |= _texts(cell, *larger)
    if leads:
        says = f"leads as large as marked ones over the same row have no mark: {', '.join(leads)}"
        why = "the tested rows are not named, and the differences of other systems may vary more"
        id = f"{marked[0][1].table.id}/leads"
        yield Finding.of(source, "note", "mark", id, placed.items(), says, why)


def _certain_leads(source: Paper, marked: list[Marked]) -> Findings:
    table = marked[0][1].table
    tested, cells = {cell.row.id for _, cell, _ in marked}, list(cells_of(source, (table,)))
    placed, leads = dict[str, str](), list[str]()
    for cell, mark in product(cells, significance(table)):
        if cell.row.id in tested and mark not in cell.printed.marks:
            wanted = need(cell, rows_over(mark, cell, cells))
            if wanted and wanted.is_certain:
                placed |= _texts(cell)
                numbers = f"{cell.row.label} {cell.number} over {wanted.over.number}"
                leads.append(f"{cell.column.label}, {numbers} ({wanted.over.row.label}) without {mark}")
    if leads:
        says = f"no two systems with these means can have p above the level: {', '.join(leads)}"
        why = "p above the level needs a larger deviation than such scores can have"
        yield Finding.of(source, "doubt", "mark", f"{table.id}/unmarked", placed.items(), says, why)


def _scope(marked: Marked) -> tuple[str, str, str | None]:
    return marked[0], marked[1].column.id, marked[1].row.group


def _lacks(cell: Cell, mark: str, over: list[str]) -> bool:
    is_other = cell.row.id not in over and cell.role not in ("cited", "reference")
    return is_other and cell.is_numeric and mark not in cell.printed.marks
