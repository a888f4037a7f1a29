"""The suite's own comparisons: tables of kind study, judged by a plan of analysis and over seeds and queries.

Its YAML is analysis.yaml of a study's folder (``contrasts``).
"""

from repro.hooks import answer


@answer
def part_of_cell(cell, page):
    """Say how a study's table is made from kept scores."""
    if page is None or cell.table.kind != "study":
        return None
    from repro.plugins.studies.studies import StudyOfCell

    return StudyOfCell(cell, page.stands, page.results)
