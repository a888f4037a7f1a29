"""Others measured the same cells: their numbers, with the places where they state them.

Its YAML is papers/*/others.yaml (``reports``).
"""

from repro.hooks import CellPart, Command, answer


@answer
def commands():
    """Offer the view of what others state."""
    line = "what others measured of the same cells, and where they say so"
    return {"show others": Command(line, "repro.plugins.reports.view:command")}


@answer
def part_of_cell(cell, page):
    """Note what others state of a cell."""
    if page is None:
        from repro.plugins.reports.reports import others_values

        return CellPart([report.note for report in others_values(cell)])
    from repro.plugins.reports.cell import OthersOfCell

    return OthersOfCell(cell)
