"""Sentences that tell a lead over one system, though their paper's own table has a stronger one beside it."""

import ast
from collections.abc import Iterator

from repro.manifest.cells import Cell
from repro.manifest.papers import Paper
from repro.plugins.statements.claims import Claim, claims_of, parts_of
from repro.plugins.statements.findings import Finding
from repro.plugins.statements.language import Places

LEADS = ("gain", "percent")


def of_leads(source: Paper) -> Iterator[Finding]:
    """A note for every claim that states how large a lead is, where a system that it passes over leaves less.

    Asked are claims that hold the lead of a row of the paper's own against a number, as in
    ``rounds(gain(a, b), "3.6")`` and ``gain(a, b) >= 1``. What is passed over stands in the table and group
    of ``b``, is no row of the paper's own, is not named in the expression, and lies between ``a`` and ``b``.
    """
    places = Places(source)
    for claim in claims_of(source).values():
        for mine, theirs in _leads(claim, places):
            between = [c for c in _beside(theirs, places) if theirs.number < c.number < mine.number]
            if stronger := [c for c in between if not _is_named(c, claim)]:
                yield _finding(source, claim, mine, theirs, stronger)


def _leads(claim: Claim, places: Places) -> Iterator[tuple[Cell, Cell]]:
    """The cells of every lead that a claim holds against a number: one of the paper's, one of others."""
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
    """The other numbers of a cell's column and group that are not the paper's own."""
    table = f"{cell.paper.name}:{cell.table.id}"
    others = [places.cell(f"{row}/{cell.column.id}") for row in places.rows(table)]
    return [c for c in others if c.is_numeric and c.role != "ours" and c.row.group == cell.row.group]


def _is_named(cell: Cell, claim: Claim) -> bool:
    """Whether the expression of a claim names a cell or its row."""
    row = f"{cell.table.id}/{cell.row.id}"
    texts = [str(part.value) for part in parts_of(claim.expect) if isinstance(part, ast.Constant)]
    return any(f"{text}/".startswith(f"{row}/") for text in texts)


def _finding(source: Paper, claim: Claim, mine: Cell, theirs: Cell, stronger: list[Cell]) -> Finding:
    passed_over = ", ".join(f"{c.row.label} leaves {mine.number - c.number}" for c in stronger)
    says = (
        f"{claim.where}: {mine.row.label} leads by {mine.number - theirs.number}, which is over "
        f"{theirs.row.label}; {passed_over}"
    )
    cells = (mine, theirs, *stronger)
    places, values = tuple(c.id for c in cells), tuple(c.printed.plain for c in cells)
    identifier = f"{source.name}/lead/{claim.id}"
    return Finding("note", "lead", "paper", source.name, identifier, places, values, says)
