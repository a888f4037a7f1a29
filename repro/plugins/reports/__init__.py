"""Others' measurements of the same cells, with their sources. The YAML files are papers/*/others.yaml (read
by ``reports``)."""

from repro.hooks import CellPart, Command, answer


@answer
def commands():
    """Offer ``show others``."""
    line = "values of the same cells reported elsewhere, with their sources"
    return {"show others": Command(line, "repro.plugins.reports.view:command")}


@answer
def part_of_cell(cell, page):
    """Add others' values of a cell as notes."""
    if page is None:
        from repro.plugins.reports.reports import others_values

        return CellPart([report.note for report in others_values(cell)])
    from repro.plugins.reports.cell import OthersOfCell

    return OthersOfCell(cell)
