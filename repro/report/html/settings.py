"""A paper's settings, held against the plan at full, as a section of the page."""

from collections.abc import Iterable

from repro.judging.settings.lines import CELL_HEAD, HEAD, by_step, counts, merged_lines, of_cells_of_settings
from repro.judging.settings.parameter import CheckedParameter
from repro.report.html.elements import Markup, el, identifier, plain_table, section
from repro.report.html.sections import Part
from repro.report.html.tables import scrolling


def settings(part: Part) -> Markup | None:
    """The section on settings: how many there are, departures and failures, then cells of settings."""
    if not part.settings:
        return None
    departures = [item for item in part.settings if item.fails or item.state == "departs"]
    cell_rows = of_cells_of_settings(part.settings)
    cells = scrolling(plain_table(CELL_HEAD, cell_rows), "cells of tables of settings") if cell_rows else None
    return section(
        "Settings",
        el("p", f"What text and released scripts state, beside the plan at full: {counts(part.settings)}."),
        el(
            "p",
            "Here stands what departs; ",
            el("code", f"repro show settings {part.paper.name}"),
            " has all.",
        ),
        [(el("p", step), _table(f"{step}, apart", items)) for step, items in by_step(departures).items()],
        cells,
        place=identifier(part.paper.name, "settings"),
    )


def _table(title: str, items: Iterable[CheckedParameter]) -> Markup:
    return scrolling(plain_table(HEAD, merged_lines(items)), f"settings: {title}")
