"""The suite's own comparisons: tables of kind study, judged by a plan of analysis and over seeds and queries.

Its YAML is analysis.yaml of a study's folder (``analysis_schema``).
"""

from repro.hooks import answer

KIND = "study"


@answer
def table_kind(kind):
    """Judge and write tables of studies."""
    if kind != KIND:
        return None
    from repro.plugins.studies.writing import StudyTables

    return StudyTables()


@answer
def part_of_cell(cell, stands, results):
    """Say how a study's table is made from kept scores."""
    if cell.table.kind != KIND:
        return None
    from repro.plugins.studies.studies import StudyOfCell

    return StudyOfCell(cell, stands, results)


@answer
def answers(pointers, results, store, machine):
    """Answer readings and claims by comparisons on equal terms."""
    from repro.plugins.studies.study_answers import StudyAnswers, StudyRecords
    from repro.plugins.studies.study_answers import answers as by_pointer

    return StudyAnswers(by_pointer(pointers, StudyRecords(results, store, machine)))
