"""Settings and released code as sections of a paper's part of a report, and as facts on cards of cells."""

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
from repro.plugins.settings.oracles import Certificate, by_code, certificates
from repro.plugins.settings.schema import steps_of
from repro.verdicts.compared import ComparedCell
from repro.writers.html.elements import Content, Markup, el, identifier, plain_table, section
from repro.writers.html.sections import Part, Sources
from repro.writers.html.tables import scrolling


class SettingsPart(PaperPart):
    """The plan beside what is stated, and the work behind cells beside released code, for a whole report."""

    def __init__(self, sources: Sources):
        self._settings = {
            name: checked_parameters(source, sources.machine) if steps_of(source) else []
            for name, source in sources.papers.items()
        }
        self._by_row: dict[str, list[CheckedParameter]] = {}
        for item in (item for items in self._settings.values() for item in items):
            self._by_row.setdefault(item.row, []).append(item)
        self._certified: dict[str, dict[str, list[Certificate]]] = {name: {} for name in sources.papers}
        for cell in sources.cells:
            self._certified[cell.paper.name][cell.id] = certificates(sources.known.nodes(cell))

    def sections(self, part: Part) -> Iterator[Section]:
        """Yield the settings of a paper, and what was held against released code."""
        name = part.paper.name
        if items := self._settings[name]:
            yield Section("Settings", "settings", 4, settings(name, items))
        if certified := list(filter(None, self._certified[name].values())):
            yield Section("Released code", "released-code", 5, released_code(name, certified))

    def card(self, c: ComparedCell, part: Part) -> Iterator[tuple[str, Content]]:
        """Yield how the row of a cell is planned, in numbers, and what its work was held against."""
        name = part.paper.name
        if text := counts(self._by_row.get(c.cell.id.rpartition("/")[0], ())):
            yield "settings", el("a", text, href=f"{part.home}#{identifier(name, 'settings')}")
        place = f"{part.home}#{identifier(name, 'released-code')}"
        yield from released_code_facts(self._certified[name].get(c.cell.id, ()), place)


def settings(paper: str, items: Sequence[CheckedParameter]) -> Markup:
    """Return the section on settings: how many there are, departures and failures, cells of settings."""
    departures = [item for item in items if item.fails or item.state == "departs"]
    cell_rows = of_cells_of_settings(items)
    cells = scrolling(plain_table(CELL_HEAD, cell_rows), "cells of tables of settings") if cell_rows else None
    return section(
        "Settings",
        el("p", f"What text and released scripts state, beside the plan at full: {counts(items)}."),
        el(
            "p",
            "Here stands what departs; ",
            el("code", f"repro show settings {paper}"),
            " has all.",
        ),
        [
            (el("p", step), _settings_table(f"{step}, apart", items))
            for step, items in by_step(departures).items()
        ],
        cells,
        place=identifier(paper, "settings"),
    )


def _settings_table(title: str, items: Iterable[CheckedParameter]) -> Markup:
    return scrolling(plain_table(HEAD, merged_lines(items)), f"settings: {title}")


def released_code(paper: str, certified: Iterable[Sequence[Certificate]]) -> Markup:
    """Return all that was compared with released code for some cell, and all that has none; once each."""
    by_key = {item.key: item for certificates in certified for item in certificates}
    place = identifier(paper, "released-code")
    items = [
        el("li", el("p", item.part), el("p", item.says, class_="fine"), id=f"{place}/{key}")
        for key, item in by_key.items()
    ]
    return section("Held against released code", el("ul", items, class_="statements"), place=place)


def released_code_facts(certificates: Sequence[Certificate], place: str) -> Iterator[tuple[str, Content]]:
    """Yield facts on the parts of a cell's work that equal released code, and on those that have none."""
    groups = by_code(certificates) | {"without any": [item for item in certificates if not item.code]}
    for phrase, items in groups.items():
        if items:  # of the names the script makes links
            names = " ".join(item.key for item in items)
            yield "released code", (phrase, ": ", el("code", names, data_readings=place))
