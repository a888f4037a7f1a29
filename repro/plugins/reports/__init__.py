"""Others measured the same cells: their numbers, with the places where they state them.

Its YAML is papers/*/others.yaml (``reports``) and papers/baselines/findings.yaml (``findings``).
"""

from repro.hooks import Command, answer

FORM = "what somebody measured, from the form of an issue to an entry of others.yaml"


@answer
def commands():
    """Offer the view of what others state, and a beginning of an entry."""
    line = "what others measured of the same cells, and where they say so"
    return {
        "show others": Command(line, "repro.plugins.reports.view:command"),
        "new value": Command(FORM, "repro.plugins.reports.view:new_value"),
    }


@answer
def side_values():
    """Put what others state beside published and measured numbers."""
    from repro.plugins.reports.others import OTHERS

    return OTHERS


@answer
def part_of_cell(cell):
    """Say what others state of a cell."""
    from repro.plugins.reports.cell import OthersOfCell

    return OthersOfCell(cell)
