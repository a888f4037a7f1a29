"""Judges claims of papers (claims.yaml) and audits papers (audit.yaml, references.yaml)."""


def part_of_cell(cell, page):
    if not cell.printed.marks:
        return None
    from repro.plugins.statements.marks import MarksOfCell

    return MarksOfCell(cell)
