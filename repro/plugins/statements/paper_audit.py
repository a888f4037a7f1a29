"""All findings of the audit, and those within a single paper. For example, a sentence states a lead over one
system although its table has a stronger one in the same group."""

import ast
from collections.abc import Iterator
from string import ascii_uppercase

from repro.manifest.cells import Cell, cells_of
from repro.manifest.cells import cell as cell_named
from repro.manifest.papers import Paper, papers
from repro.manifest.reading_schema import Reading
from repro.plugins.statements.across_papers import conventions, disagreements, namesakes, quotations
from repro.plugins.statements.claim_values import PublishedValues
from repro.plugins.statements.claims import FAILS, Claim, claims_of, parts_of
from repro.plugins.statements.findings import (
    Finding,
    Notes,
    check_use,
    notes,
    notes_of,
    sort_findings,
    told_once,
)
from repro.plugins.statements.judged import named_papers
from repro.plugins.statements.language import Places
from repro.plugins.statements.marks import of_marks, of_words
from repro.plugins.statements.patterns import of_patterns
from repro.plugins.statements.references import of_references, other_numbers
from repro.plugins.statements.statements import Statement, arithmetic_faults, statements
from repro.store.results import Results


def findings(source: Paper) -> Iterator[Finding]:
    """Yield the findings on a paper's own tables, statements, marks and readings."""
    yield from _sum_findings(source)
    yield from _statement_findings(source)
    yield from of_marks(source)
    yield from of_words(source)
    for reading in source.readings.values():
        if reading.kind in ("misprint", "conflict"):
            yield _reading_finding(source, reading)


def _sum_findings(source: Paper) -> Iterator[Finding]:
    for identifier, reason in arithmetic_faults(source):
        subject = cell_named(identifier)
        if subject.column.mean_of or subject.printed.delta is not None:
            kind = "average" if subject.column.mean_of else "delta"
            place = (identifier,), (subject.text,)
            yield Finding("error", kind, "paper", source.name, identifier, *place, reason)


def _statement_findings(source: Paper) -> Iterator[Finding]:
    finder = Places(source)
    for statement in statements(source):
        judgement = statement.judge(PublishedValues(), finder)
        if judgement.state == FAILS:
            printed = tuple(c.printed.plain for c in statement.cells) or ("",) * len(statement.tables)
            says = filter(None, [f"{statement.where}: {judgement.why}", judgement.differs_by_measure])
            yield Finding(
                "doubt" if statement.assumed else "error",
                statement.kind,
                "another paper" if named_papers(statement.expect) else "paper",
                source.name,
                statement.id,
                (statement.id, *_places(statement)),
                (statement.says, *printed),
                "; ".join(says),
                _explanation(statement),
            )


def _explanation(statement: Statement) -> str:
    assumed = f"our assumption: {statement.assumed}" if statement.assumed else ""
    return "; ".join(filter(None, [statement.note, assumed]))


def _places(statement: Statement) -> tuple[str, ...]:
    if statement.cells:
        return tuple(c.id for c in statement.cells)
    return tuple(f"{statement.paper.name}/{table}" for table in statement.tables)


def _reading_finding(source: Paper, reading: Reading) -> Finding:
    places, values = [f"{source.name}/{reading.where}"], [reading.paper]
    for identifier in reading.cells:
        if identifier.count("/") == 3 and identifier.startswith(f"{source.name}/"):
            places.append(identifier)
            values.append(cell_named(identifier).printed.plain)
    severity = reading.severity or ("error" if reading.kind == "misprint" else "doubt")
    fields = source.name, f"{source.name}/reading/{reading.id}", tuple(places), tuple(values)
    says = f"{reading.id}: {reading.paper}"
    return Finding(severity, reading.kind, reading.against or "paper", *fields, says, reading.evidence)


def audit(sources: list[Paper]) -> list[Finding]:
    """Return the findings in these papers, and between them and all others, one for each of ``facts``. Raises
    ManifestError."""
    all_notes = notes()
    by_name = {source.name: source for source in (*papers().values(), *sources)}
    all_findings = [
        f.explained(all_notes.explanation(f.places)) for f in each(list(by_name.values()), all_notes)
    ]
    places = {finding.id: finding.places for finding in all_findings}
    for source in sources:
        check_use(source, places)
    names = {source.name for source in sources}
    joined = told_once(all_findings, all_notes.facts)
    return sort_findings([f for f in joined if names & {place.split("/")[0] for place in f.places}])


def each(sources: list[Paper], all_notes: Notes) -> Iterator[Finding]:
    """Yield every finding separately, before those of one fact are joined."""
    yield from disagreements(sources, all_notes)
    yield from other_numbers(sources)
    yield from namesakes(sources, all_notes)
    yield from quotations(sources, all_notes)
    yield from conventions(sources, all_notes)
    for source in sources:
        yield from findings(source)
        yield from of_patterns(source)
        yield from of_references(source)
        yield from of_leads(source)
        yield from of_domains(source)
        yield from of_indices(source)
        yield from _wording_findings(source)


def _wording_findings(source: Paper) -> Iterator[Finding]:
    for word in notes_of(source).wording:
        fields = source.name, f"{source.name}/wording/{word.id}", (f"{source.name}/{word.where}",), ("",)
        yield Finding(word.severity, word.kind, word.against, *fields, word.says)


def altered_records(sources: list[Paper], results: Results) -> list[Finding]:
    """Return an error for every line of these papers' records that is not an intact record."""
    names = {source.name for source in sources}
    return [
        Finding("error", "record", "record", fault.path.stem, place, (place,), ("",), fault.reason)
        for fault in results.checked()[1]
        if fault.path.stem in names
        for place in [f"{fault.path}:{fault.line}"]
    ]


def of_domains(source: Paper) -> Iterator[Finding]:
    """Yield a doubt for each number of an ``out_of_domain`` table if its system is ``trained_on`` that
    set."""
    own_notes = notes_of(source)
    tables = [t for t in source.manifest.tables if t.id in own_notes.out_of_domain]
    for cell in cells_of(source, tuple(tables)):
        sets = own_notes.trained_on[cell.row.system]
        if cell.is_numeric and any(f"{cell.column.dataset}/".startswith(f"{name}/") for name in sets):
            says = f"{cell.row.label} was trained on this set, but Table {cell.table.id} is on unseen sets"
            identifier = f"{source.name}/domain/{cell.table.id}/{cell.row.id}/{cell.column.id}"
            values = (cell.printed.plain,)
            yield Finding("doubt", "domain", "third party", source.name, identifier, (cell.id,), values, says)


def of_indices(source: Paper) -> Iterator[Finding]:
    """Yield a doubt for every index of an equation that exceeds its sequence, e.g. entry N+1 of 1 to N."""
    for index in notes_of(source).indices:
        first, last = (_number(end) for end in index.sequence)
        used = [_number(end) + _number(index.uses.replace("i", "")) for end in index.runs]
        beyond = [word for word, is_so in (("first", used[0] < first), ("last", used[1] > last)) if is_so]
        if beyond:
            says = f"{index.where}: {index.says}, but the {' and the '.join(beyond)} of the sequence has none"
            place = (f"{source.name}/{index.where}",)
            identifier = f"{source.name}/index/{index.id}"
            yield Finding("doubt", "index", "paper", source.name, identifier, place, (index.uses,), says)


def _number(end: str) -> int:
    """Return a bound such as ``N+1`` as a number that preserves order: a letter counts as a million."""
    return 1_000_000 * end[:1].isalpha() + int(end.lstrip(ascii_uppercase) or 0)


LEADS = ("gain", "percent")


def of_leads(source: Paper) -> Iterator[Finding]:
    """Yield a note for every claimed lead that skips a stronger system of the same group. For example,
    ``rounds(gain(a, b), "3.6")`` states a lead of ``a`` over ``b``."""
    places = Places(source)
    for claim in claims_of(source).values():
        for mine, theirs in _leads(claim, places):
            between = [c for c in _beside(theirs, places) if theirs.number < c.number < mine.number]
            if stronger := [c for c in between if not _is_named(c, claim)]:
                yield _finding(source, claim, mine, theirs, stronger)


def _leads(claim: Claim, places: Places) -> Iterator[tuple[Cell, Cell]]:
    for part in parts_of(claim.expect):
        match part:
            case ast.Call(func=ast.Name(id="rounds" | "about"), args=[lead, *_]):
                pass
            case ast.Compare(left=lead, comparators=[ast.Constant()]):
                pass
            case _:
                continue
        match lead:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(a), ast.Constant(b)]) if name in LEADS:
                mine, theirs = places.cell(str(a)), places.cell(str(b))
                comparable = mine.row.group == theirs.row.group and mine.is_numeric and theirs.is_numeric
                if comparable and mine.role == "ours" != theirs.role and not mine.smaller_is_better:
                    yield mine, theirs


def _beside(cell: Cell, places: Places) -> list[Cell]:
    table = f"{cell.paper.name}:{cell.table.id}"
    others = [places.cell(f"{row}/{cell.column.id}") for row in places.rows(table)]
    return [c for c in others if c.is_numeric and c.role != "ours" and c.row.group == cell.row.group]


def _is_named(cell: Cell, claim: Claim) -> bool:
    row = f"{cell.table.id}/{cell.row.id}"
    texts = [str(part.value) for part in parts_of(claim.expect) if isinstance(part, ast.Constant)]
    return any(f"{text}/".startswith(f"{row}/") for text in texts)


def _finding(source: Paper, claim: Claim, mine: Cell, theirs: Cell, stronger: list[Cell]) -> Finding:
    leads = [f"{mine.number - c.number} over {c.row.label}" for c in (theirs, *stronger)]
    says = f"{claim.where}: {mine.row.label} leads by {leads[0]}, but only by {', '.join(leads[1:])}"
    cells = (mine, theirs, *stronger)
    places, values = tuple(c.id for c in cells), tuple(c.printed.plain for c in cells)
    identifier = f"{source.name}/lead/{claim.id}"
    return Finding("note", "lead", "paper", source.name, identifier, places, values, says)
