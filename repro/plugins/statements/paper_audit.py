"""Findings of the audit, e.g. an average that does not recompute, and their functions for Python."""

import ast
import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise, product
from string import ascii_uppercase

from repro.api import Listing
from repro.manifest.cells import Cell, cells_of
from repro.manifest.cells import cell as cell_named
from repro.manifest.papers import Paper, papers
from repro.manifest.papers import sources as sources_named
from repro.manifest.reading_schema import Reading
from repro.manifest.schema import Table
from repro.plugins.statements import across_papers, judged, language, marks
from repro.plugins.statements import findings as audit_file
from repro.plugins.statements.claims import FAILS, Claim, claims_of, parts_of
from repro.plugins.statements.findings import Finding, Findings, Notes, notes_of, printed
from repro.plugins.statements.references import Reference, of_references, other_numbers, paper_references
from repro.plugins.statements.statements import arithmetic_faults, statements
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace
from repro.store.results import Results


def findings(source: Paper) -> Findings:
    yield from _sum_findings(source)
    yield from _statement_findings(source)
    yield from marks.of_marks(source)
    yield from marks.of_words(source)
    for reading in source.readings.values():
        if reading.kind in ("misprint", "conflict"):
            yield _reading_finding(source, reading)


def _sum_findings(source: Paper) -> Findings:
    for id, reason in arithmetic_faults(source):
        subject = cell_named(id)
        if subject.column.mean_of or subject.printed.delta is not None:
            kind, placed = "average" if subject.column.mean_of else "delta", [(id, subject.text)]
            yield Finding.of(source, "error", kind, id.partition("/")[2], placed, reason)


def _statement_findings(source: Paper) -> Findings:
    for statement in statements(source):
        judgement = statement.as_published
        if judgement.state == FAILS:
            tables = [(f"{source.name}/{table}", "") for table in statement.tables]
            placed = printed(statement.cells) or tables
            says = filter(None, [f"{statement.where}: {judgement.why}", judgement.differs_by_measure])
            assumed = f"our assumption: {statement.assumed}" if statement.assumed else ""
            yield Finding.of(
                source,
                "doubt" if assumed else "error",
                statement.kind,
                statement.id.partition("/")[2],
                [(statement.id, statement.says), *placed],
                "; ".join(says),
                "; ".join(filter(None, [statement.note, assumed])),
                against="another paper" if judged.named_papers(statement.expect) else "paper",
            )


def _reading_finding(source: Paper, reading: Reading) -> Finding:
    own = [c for c in reading.cells if c.count("/") == 3 and c.startswith(f"{source.name}/")]
    placed = [(f"{source.name}/{reading.where}", reading.paper), *printed(map(cell_named, own))]
    severity = reading.severity or ("error" if reading.kind == "misprint" else "doubt")
    id, says = f"reading/{reading.id}", f"{reading.id}: {reading.paper}"
    fields = severity, reading.kind, id, placed, says, reading.evidence
    return Finding.of(source, *fields, against=reading.against or "paper")


def findings_of(sources: list[Paper]) -> list[Finding]:
    """Return the findings on these papers, also on differences from other papers. Findings on the same fact
    are joined. Raises ManifestError."""
    shared = audit_file.notes()
    by_name = {s.name: s for s in (*papers().values(), *sources)}
    found = [f.explained(shared.explanation(f.places)) for f in each(list(by_name.values()), shared)]
    places = {f.id: f.places for f in found}
    for source in sources:
        audit_file.check_use(source, places)
    names = {s.name for s in sources}
    joined = audit_file.with_joined_facts(found, shared.facts)
    own = [f for f in joined if names & {place.split("/")[0] for place in f.places}]
    return audit_file.sort_findings(own)


def each(sources: list[Paper], all_notes: Notes) -> Findings:
    """Yield every finding, before those on the same fact are joined."""
    yield from across_papers.disagreements(sources, all_notes)
    yield from other_numbers(sources)
    yield from across_papers.namesakes(sources, all_notes)
    yield from across_papers.quotations(sources, all_notes)
    yield from across_papers.conventions(sources, all_notes)
    parts = (findings, of_patterns, of_references, of_leads, of_domains, of_indices, _wording_findings)
    for source, part in product(sources, parts):
        yield from part(source)


def _wording_findings(source: Paper) -> Findings:
    for word in notes_of(source).wording:
        id, placed = f"wording/{word.id}", [(f"{source.name}/{word.where}", "")]
        yield Finding.of(source, word.severity, word.kind, id, placed, word.says, against=word.against)


def altered_records(sources: list[Paper], results: Results) -> list[Finding]:
    """Return an error for each altered line in the files of these papers' measured results."""
    names = {s.name for s in sources}
    return [
        Finding("error", "record", "record", fault.path.stem, place, (place,), ("",), fault.reason)
        for fault in results.checked()[1]
        if fault.path.stem in names
        for place in [f"{fault.path}:{fault.line}"]
    ]


def of_domains(source: Paper) -> Findings:
    """Yield a doubt for each number of an ``out_of_domain`` table on a training set of its system."""
    own = notes_of(source)
    tables = [t for t in source.manifest.tables if t.id in own.out_of_domain]
    for cell in cells_of(source, tuple(tables)):
        sets = own.trained_on[cell.row.system]
        if cell.is_numeric and any(f"{cell.column.dataset}/".startswith(f"{name}/") for name in sets):
            says = f"{cell.row.label} was trained on this set, but Table {cell.table.id} is on unseen sets"
            place, placed = f"domain/{cell.table.id}/{cell.row.id}/{cell.column.id}", printed([cell])
            yield Finding.of(source, "doubt", "domain", place, placed, says, against="third party")


def of_indices(source: Paper) -> Findings:
    """Yield a doubt for every index that goes beyond its sequence, e.g. to entry N+1 of 1 to N."""
    for index in notes_of(source).indices:
        first, last = (_number(end) for end in index.sequence)
        used = [_number(end) + _number(index.uses.replace("i", "")) for end in index.runs]
        beyond = [word for word, is_so in (("first", used[0] < first), ("last", used[1] > last)) if is_so]
        if beyond:
            says = f"{index.where}: {index.says}, but the {' and the '.join(beyond)} of the sequence has none"
            placed = [(f"{source.name}/{index.where}", index.uses)]
            yield Finding.of(source, "doubt", "index", f"index/{index.id}", placed, says)


def _number(end: str) -> int:
    """Return e.g. 1,000,001 for ``N+1``."""
    return 1_000_000 * end[:1].isalpha() + int(end.lstrip(ascii_uppercase) or 0)


def of_leads(source: Paper) -> Findings:
    """Yield a note for every lead, e.g. ``gain(a, b)``, over a system that is not the best of its group."""
    places = language.Places(source)
    for claim in claims_of(source).values():
        for mine, theirs in _leads(claim, places):
            between = [c for c in _beside(theirs, places) if theirs.number < c.number < mine.number]
            if stronger := [c for c in between if not _is_named(c, claim)]:
                leads = [f"{mine.number - c.number} over {c.row.label}" for c in (theirs, *stronger)]
                lead, others = leads[0], ", ".join(leads[1:])
                says = f"{claim.where}: {mine.row.label} leads by {lead}, but only by {others}"
                placed = printed((mine, theirs, *stronger))
                yield Finding.of(source, "note", "lead", f"lead/{claim.id}", placed, says)


def _leads(claim: Claim, places: language.Places) -> Iterator[tuple[Cell, Cell]]:
    for part in parts_of(claim.expect):
        match part:
            case ast.Call(func=ast.Name(id="rounds" | "about"), args=[lead, *_]):
                pass
            case ast.Compare(left=lead, comparators=[ast.Constant()]):
                pass
            case _:
                continue
        match lead:
            case ast.Call(func=ast.Name(id="gain" | "percent"), args=[ast.Constant(a), ast.Constant(b)]):
                mine, theirs = places.cell(str(a)), places.cell(str(b))
                alike = mine.row.group == theirs.row.group and mine.is_numeric and theirs.is_numeric
                if alike and mine.role == "ours" != theirs.role and not mine.smaller_is_better:
                    yield mine, theirs


def _beside(cell: Cell, places: language.Places) -> list[Cell]:
    table = f"{cell.paper.name}:{cell.table.id}"
    others = [places.cell(f"{row}/{cell.column.id}") for row in places.rows(table)]
    return [c for c in others if c.is_numeric and c.role != "ours" and c.row.group == cell.row.group]


def _is_named(cell: Cell, claim: Claim) -> bool:
    row = f"{cell.table.id}/{cell.row.id}"
    texts = [str(part.value) for part in parts_of(claim.expect) if isinstance(part, ast.Constant)]
    return any(f"{text}/".startswith(f"{row}/") for text in texts)


EQUAL, TURNED = 2, 3  # the fewest equal measures, and rows in another order
_CUTOFF = re.compile(r"(\w+)@(\d+)")
Scores = dict[across_papers.Scored, Cell]


def of_patterns(source: Paper) -> Findings:
    tables = [t for t in source.manifest.tables if t.kind == "results"]
    yield from _equal_parts(source, tables)
    for table in tables:
        yield from _out_of_line(source, table)
        cells = cells_of(source, (table,))
        if table.promises_bold and not any(c.printed.bold for c in cells):
            says = "the caption promises bold for the best, but the texts at hand have no bold number"
            placed = [(f"{source.name}/{table.id}", "")]
            yield Finding.of(source, "note", "bold", f"{table.id}/no-bold", placed, says)


def _equal_parts(source: Paper, tables: list[Table]) -> Findings:
    rows: dict[str, Scores] = {}
    for cell in across_papers.scored_cells(cells_of(source, tuple(tables))):
        rows.setdefault(cell.row_path, {})[across_papers.dataset_and_measure(cell)] = cell
    for part, system in product(filter(_has_difference, rows.values()), rows.values()):
        common = [key for key in part if key in system and system[key].role != "ours"]
        equal = [key for key in common if part[key].number == system[key].number]
        if len(equal) >= EQUAL:
            cells = [scores[key] for key in equal for scores in (part, system)]
            one, other = cells[:2]
            says = (
                f"{one.row.label} of Table {one.table.id} has the numbers of {other.row.label} in "
                f"{len(equal)} of {len(common)} measures: there the gain comes from the other parts alone"
            )
            id = f"equal/{one.table.id}/{one.row.id}/{other.row.id}"
            yield Finding.of(source, "note", "equal", id, printed(cells), says)


def _has_difference(row: Scores) -> bool:
    return any(c.role == "ours" and c.printed.delta is not None for c in row.values())


def _out_of_line(source: Paper, table: Table) -> Findings:
    families: dict[tuple, dict[int, dict[str, Cell]]] = {}
    for cell in cells_of(source, (table,)):
        if cell.is_numeric and (match := _CUTOFF.fullmatch(cell.column.measure or "")):
            key = cell.column.dataset, match[1], cell.row.group
            families.setdefault(key, {}).setdefault(int(match[2]), {})[cell.row.id] = cell
    for by_cutoff in families.values():
        columns = [by_cutoff[cutoff] for cutoff in sorted(by_cutoff)]
        for (before, at), (_, after) in pairwise(pairwise(columns)):
            yield from _turned(source, before, at, after)


def _turned(source: Paper, *columns: dict[str, Cell]) -> Findings:
    before, at, after = columns
    rows = [row for row in at if row in before and row in after]
    for row in rows:
        turned = []
        for other in rows:
            first, middle, last = (c[row].number - c[other].number for c in columns)
            turned += [at[other]] * (first * last > 0 > first * middle)
        if len(turned) >= TURNED:
            yield _order_finding(source, [at[row], *turned], before[row], after[row])


def _order_finding(source: Paper, cells: list[Cell], before: Cell, after: Cell) -> Finding:
    cell, *others = cells
    side, opposite = ("below", "above") if cell.number < others[0].number else ("above", "below")
    names = ", ".join(c.row.label for c in others)
    says = (
        f"{cell.column.label} of {cell.row.label} is {side} {names}, but {opposite} them in the neighbouring "
        f"columns {before.column.label} and {after.column.label}"
    )
    id = f"order/{cell.table.id}/{cell.row.id}/{cell.column.id}"
    return Finding.of(source, "note", "order", id, printed(cells), says)


def claims(
    *names: str, scale: str = "full", workspace: Workspace | None = None
) -> Listing[judged.JudgedStatement]:
    """Judge sentences, marks and bold numbers of papers (default: all) by the published numbers, by ours at
    ``scale`` and by reported ones. Raises UsageError, ManifestError.

    Example:
        >>> repro.claims("PAPER", scale="tiny").to_frame()
    """
    statements = judged.judged_at(sources_named(names), scale_of(scale), workspace or Workspace.open())
    return Listing(statements, line=_statement_values, index="id")


def audit(*names: str, workspace: Workspace | None = None) -> Listing[Finding]:
    """Return findings on papers (default: all) and on altered lines of their measured results. Raises
    UsageError, ManifestError.

    Example:
        >>> repro.audit("PAPER").to_frame()
    """
    sources = sources_named(names)
    found = [*findings_of(sources), *altered_records(sources, (workspace or Workspace.open()).results)]
    return Listing(audit_file.sort_findings(found), line=Finding.as_json, index="paper")


def references(*names: str) -> Listing[Reference]:
    """Return the papers' references to tables, equations, sections and works, with verdicts. Raises
    UsageError, ManifestError.

    Example:
        >>> repro.references("PAPER").to_frame()
    """
    found = [reference for source in sources_named(names) for reference in paper_references(source)]
    return Listing(found, line=asdict, index="paper")


def _statement_values(j: judged.JudgedStatement) -> dict:
    values = {key: value for key, value in j.as_json().items() if not isinstance(value, dict)}
    values |= {"published": j.published.state, "measured": j.ours.state}
    return values | {"others": j.others.state, "doubts": "; ".join(j.doubts) or None}
