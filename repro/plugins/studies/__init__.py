"""The suite's own comparisons: tables of kind ``study``, with a plan of analysis and tests over seeds and
queries. Its YAML file is analysis.yaml in the folder of a study (read by ``analysis_schema``)."""


def part_of_cell(cell, page):
    """Describe how to make a study's table from kept scores. Returns None for other tables."""
    if cell.table.kind != "study":
        return None
    from repro.plugins.studies.studies import StudyOfCell

    return StudyOfCell(cell, page.stands, page.results)
