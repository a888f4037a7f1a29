"""Judges the claims of papers and audits papers. Reads claims.yaml (``claims``), audit.yaml (``findings``)
and references.yaml (``references``)."""


def part_of_cell(cell, page):
    """Describe the implausible marks of a cell. Returns None for a cell without marks."""
    if not cell.printed.marks:
        return None
    from repro.plugins.statements.marks import MarksOfCell

    return MarksOfCell(cell)
