"""Others' measurements of published cells, with their sources, from papers/*/others.yaml."""

from repro.hooks import CellPart, Command, answer


@answer
def commands():
    """Offer ``show others``."""
    line = "values of the same cells stated by others, with their sources"
    return {"show others": Command(line, "repro.plugins.reports.view:command")}


@answer
def part_of_cell(cell, page):
    """Add others' values of a cell as notes."""
    if page is None:
        from repro.plugins.reports.reports import others_values

        return CellPart([report.note for report in others_values(cell)])
    from repro.plugins.reports.cell import OthersOfCell

    return OthersOfCell(cell)
