"""Settings in a report: a section per paper, and a line on each cell's card, e.g. "36 as released"."""

from collections.abc import Iterable, Iterator, Sequence

from repro.hooks import PaperPart, Section
from repro.plugins.settings.checked import (
    CELL_HEAD,
    HEAD,
    CheckedParameter,
    by_step,
    checked_parameters,
    counts,
    merged_lines,
    of_cells_of_settings,
)
from repro.plugins.settings.schema import steps_of
from repro.verdicts.compared import ComparedCell
from repro.writers.html.elements import Content, Markup, el, identifier, plain_table, section
from repro.writers.html.sections import Part, Sources
from repro.writers.html.tables import scrolling


class SettingsPart(PaperPart):
    """The planned and the stated settings, for a whole report."""

    def __init__(self, sources: Sources):
        self._settings = {
            name: checked_parameters(source, sources.machine) if steps_of(source) else []
            for name, source in sources.papers.items()
        }
        self._by_row: dict[str, list[CheckedParameter]] = {}
        for item in (item for items in self._settings.values() for item in items):
            self._by_row.setdefault(item.row, []).append(item)

    def sections(self, part: Part) -> Iterator[Section]:
        """Yield the section on the settings of a paper."""
        name = part.paper.name
        if items := self._settings[name]:
            yield Section("Settings", "settings", 4, settings(name, items))

    def card(self, c: ComparedCell, part: Part) -> Iterator[tuple[str, Content]]:
        """Yield the number of the row's settings by state."""
        name = part.paper.name
        if text := counts(self._by_row.get(c.cell.id.rpartition("/")[0], ())):
            yield "settings", el("a", text, href=f"{part.home}#{identifier(name, 'settings')}")


def settings(paper: str, items: Sequence[CheckedParameter]) -> Markup:
    """Return the section on settings: counts, differences and failures, and cells of tables of settings."""
    departures = [item for item in items if item.fails or item.state == "departs"]
    groups = by_step(departures).items()
    cell_rows = of_cells_of_settings(items)
    cells = scrolling(plain_table(CELL_HEAD, cell_rows), "cells of tables of settings") if cell_rows else None
    return section(
        "Settings",
        el("p", f"Settings of text and released scripts, compared with the plan at full: {counts(items)}."),
        el("p", "Departures only (all: ", el("code", f"repro show settings {paper}"), ")."),
        [(el("p", step), _settings_table(f"{step}, departures", items)) for step, items in groups],
        cells,
        place=identifier(paper, "settings"),
    )


def _settings_table(title: str, items: Iterable[CheckedParameter]) -> Markup:
    return scrolling(plain_table(HEAD, merged_lines(items)), f"settings: {title}")
