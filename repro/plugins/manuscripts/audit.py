"""All findings on a manuscript."""

from itertools import product

from repro.plugins.manuscripts.checks import across, deltas, emphasis, marks, means, prose, values
from repro.plugins.manuscripts.findings import Finding, in_order, without_ignored
from repro.plugins.manuscripts.series import grids
from repro.plugins.manuscripts.tables import Manuscript

BOTH_WAYS = (means.totals, deltas.in_series, deltas.in_groups)
BY_SYSTEMS = (
    deltas.behind_values,
    marks.impossible,
    values.decimals,
    values.out_of_range,
    values.falling,
    values.impossible_means,
    values.undefined_depths,
)
ACROSS = (emphasis.best, emphasis.second_best, across.several_values, across.unpublished)


def findings(manuscript: Manuscript) -> list[Finding]:
    """Return what does not fit in a manuscript, whatever its author set aside, by file and line."""
    pairs = [grids(table) for table in manuscript.tables]
    of_units = [each for by_system, _ in pairs for each in values.mixed_units(by_system)]
    odd = [value.cell for value, _ in of_units]
    by_systems = [by_system.without(odd) for by_system, _ in pairs]
    turned = [grid.without(odd) for _, grid in pairs]
    all_findings = [finding for _, finding in of_units]
    for check, grid in (*product(BOTH_WAYS, (*by_systems, *turned)), *product(BY_SYSTEMS, by_systems)):
        all_findings += check(grid)
    for check_of_all in ACROSS:
        all_findings += check_of_all(by_systems)
    return in_order([*all_findings, *prose.wrong_quotes(manuscript, by_systems)])


def audit(manuscript: Manuscript) -> list[Finding]:
    """Return the findings that no comment of the author sets aside, and comments that set nothing aside."""
    places = [cell.place for table in manuscript.tables for row in (*table.head, *table.body) for cell in row]
    places += [place for place, _ in manuscript.prose]
    files = dict.fromkeys(place.file for place in places)
    return without_ignored(findings(manuscript), [file for file in files if file.is_file()])
