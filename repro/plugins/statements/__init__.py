"""The claims of papers, judged by the paper's numbers, by ours and by others' values, and the audit of
papers.

Its YAML files are claims.yaml (read by ``claims``), audit.yaml (``findings``) and references.yaml
(``references``).
"""


def part_of_cell(cell, page):
    """Describe the implausible marks of a cell. Returns None for a cell without marks."""
    if not cell.printed.marks:
        return None
    from repro.plugins.statements.marks import MarksOfCell

    return MarksOfCell(cell)
