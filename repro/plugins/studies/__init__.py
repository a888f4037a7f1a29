"""The suite's own comparisons: tables of kind ``study``, planned in e.g. papers/STUDY/analysis.yaml."""


def part_of_cell(cell, page):
    if cell.table.kind != "study":
        return None
    from repro.plugins.studies.studies import StudyOfCell

    return StudyOfCell(cell, page.stands, page.results)
