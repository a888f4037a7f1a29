"""All findings on a manuscript."""

from repro.plugins.manuscripts.checks import across, deltas, emphasis, means, prose, values
from repro.plugins.manuscripts.findings import Finding, in_order, without_ignored
from repro.plugins.manuscripts.series import grids
from repro.plugins.manuscripts.tables import Manuscript

BOTH_WAYS = (means.totals, deltas.in_series)
BY_SYSTEMS = (
    deltas.behind_values,
    emphasis.marks,
    emphasis.decimals,
    values.out_of_range,
    values.falling,
    values.impossible_means,
    values.undefined_depths,
)
ACROSS = (emphasis.best, emphasis.second_best, across.several_values, across.unpublished)


def findings(manuscript: Manuscript) -> list[Finding]:
    """Return what does not fit in a manuscript, whatever its author set aside, by file and line."""
    pairs = [grids(table) for table in manuscript.tables]
    of_units = [found for by_system, _ in pairs for found in values.mixed_units(by_system)]
    odd = [value.cell for value, _ in of_units]
    pairs = [(by_system.without(odd), turned.without(odd)) for by_system, turned in pairs]
    by_systems = [by_system for by_system, _ in pairs]
    return in_order(
        [
            *(finding for _, finding in of_units),
            *(finding for pair in pairs for grid in pair for check in BOTH_WAYS for finding in check(grid)),
            *(finding for grid in by_systems for check in BY_SYSTEMS for finding in check(grid)),
            *(finding for check in ACROSS for finding in check(by_systems)),
            *prose.wrong_quotes(manuscript, by_systems),
        ]
    )


def audit(manuscript: Manuscript) -> list[Finding]:
    """Return the findings that no comment of the author sets aside, and comments that set nothing aside."""
    places = [cell.place for table in manuscript.tables for row in (*table.head, *table.body) for cell in row]
    places += [place for place, _ in manuscript.prose]
    files = dict.fromkeys(place.file for place in places)
    return without_ignored(findings(manuscript), [file for file in files if file.is_file()])
