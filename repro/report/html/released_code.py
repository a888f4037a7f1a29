"""How far the work behind a paper's cells is from released code: a section, and the facts of a card."""

from collections.abc import Iterator

from repro.judging.released_code import by_code
from repro.manifest.cells import Cell
from repro.report.html.elements import Markup, el, identifier, section
from repro.report.html.sections import Part


def place(part: Part) -> str:
    """The id of the section, and the beginning of those of its parts."""
    return identifier(part.paper.name, "released-code")


def released_code(part: Part) -> Markup | None:
    """All that was compared with released code for some cell, and all that has none; once each."""
    by_key = {item.key: item for certificates in part.certified.values() for item in certificates}
    if not by_key:
        return None
    items = [
        el("li", el("p", item.part), el("p", item.says, class_="fine"), id=f"{place(part)}/{key}")
        for key, item in by_key.items()
    ]
    return section("Held against released code", el("ul", items, class_="statements"), place=place(part))


def released_code_facts(cell: Cell, part: Part) -> Iterator[tuple[str, Markup]]:
    """Facts on the parts of a cell's work that equal released code, and on those that have none."""
    certificates = part.certified.get(cell.id, ())
    groups = by_code(certificates) | {"without any": [item for item in certificates if not item.code]}
    for phrase, items in groups.items():
        if items:  # of the names the script makes links
            names = " ".join(item.key for item in items)
            yield phrase, el("code", names, data_readings=f"{part.home}#{place(part)}")
