"""The list of all cells, which the page's script fills, sorts and filters, and the data of the cards."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from repro.verdicts.beside import kinds
from repro.verdicts.compared import ComparedCell
from repro.writers.grid import label_in_full, shown_measurement, shown_run
from repro.writers.html.details import card
from repro.writers.html.elements import Content, Markup, el, identifier, join
from repro.writers.html.sections import Report
from repro.writers.html.tables import scrolling
from repro.writers.html.verdicts import badge

# head and, for those that a reader chooses values of, the name of its control
COLUMNS = {
    "system": "system",
    "paper": "paper",
    "table": "table",
    "column": None,
    "dataset": "dataset",
    "published": None,
    "measured": None,
    "difference": None,
    "verdict": "verdict",
    "run by others": None,
}
ONLY = {"measured": "only measured", "fails": "only what fails", "run": "only run by others"}
PIECES = re.compile(r"(?:<[^>]+>)+|[^<]+")  # of HTML in which no attribute holds a bare sign
ABOUT = "The cells of all papers. Press a system to see how its number is defined, judged and made again."


def cells(report: Report) -> Markup:
    """The place of the list of every cell of every paper, which the page's script fills from ``data``."""
    heads = [el("th", name, scope="col") for name in (*COLUMNS, *(kind.label for kind in kinds()))]
    body = el("table", el("thead", el("tr", heads)), el("tbody"), class_="plain list")
    header = el("header", el("h2", "All cells"), el("p", ABOUT, class_="lead"))
    note = el("noscript", el("p", "The list, and the card behind each number, need the page's script."))
    return el("article", header, note, _controls(), scrolling(body, "all cells"), id="cells")


def data(report: Report) -> Markup:
    """All lines of the list and all cards as JSON, in which every text, and what texts share, stands once.

    ``texts`` are HTML, as numbers of their ``pieces``: tags, or what is between tags. A cell is its id, what
    the line shows from the system on, as numbers of texts, the parts of its card, likewise, and whether it
    counts as published.
    """
    texts: dict[str, int] = {}

    def number(text: Content) -> int:
        return texts.setdefault(join(text), len(texts))

    lines = [
        [
            identifier(*c.cell.id.split("/")),
            [number(field) for field in _fields(c)],
            [number(piece) for piece in card(c, part)],
            int(c.cell.counted_as == "published"),
        ]
        for part in report.parts
        for c in part.cells()
    ]
    pieces: dict[str, int] = {}
    numbers = [[pieces.setdefault(p, len(pieces)) for p in PIECES.findall(text)] for text in texts]
    content = {"scale": report.scale, "pieces": list(pieces), "texts": numbers, "cells": lines}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # nothing in it ends the script, or begins a comment
    safe = text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return el("script", Markup(safe), type="application/json", id="data")


def to_list(text: str, chosen: Mapping[str, str] | None) -> Content:
    """A link to the list of those cells that have the values chosen; the text alone where None are."""
    return text if chosen is None else el("a", text, href="#cells", data_filter=urlencode(chosen))


def _controls() -> Markup:
    search = el("input", type="search", name="search", autocomplete="off", placeholder="any words")
    selects = [
        el("label", name, el("select", el("option", "any", value=""), name=name, autocomplete="off"))
        for name in filter(None, COLUMNS.values())
    ]
    boxes = [
        el("label", el("input", type="checkbox", name="only", value=name, autocomplete="off"), text)
        for name, text in ONLY.items()
    ]
    boxes += [
        el(
            "label",
            el(
                "input",
                type="checkbox",
                name="only",
                value=kind.only,
                data_column=kind.label,
                autocomplete="off",
            ),
            f"only {kind.label}",
        )
        for kind in kinds()
    ]
    count = el("output", aria_live="polite")
    buttons = [
        el("button", "start over", type="reset"),
        el("button", "copy as CSV", type="button", class_="csv"),
    ]
    return el("form", el("label", "search", search), selects, boxes, count, buttons, id="chosen", hidden=True)


def _fields(c: ComparedCell) -> Iterator[Content]:
    """The contents of the columns; paper and table follow from the cell's id."""
    cell = c.cell
    yield from (label_in_full(cell.table, cell.row), cell.column.label, cell.column.dataset)
    yield "" if cell.is_unpublished else cell.printed.plain
    yield shown_measurement(c) or ""
    yield "" if c.verdict.difference is None else f"{c.verdict.difference:+.4g}"
    yield badge(c.verdict.name)
    run = c.imported[-1] if c.imported else None
    yield (f"{shown_run(run, cell)} ", badge(run.verdict.name, plain=True)) if run else ""
    yield from (c.beside[kind.name].shown if kind.name in c.beside else "" for kind in kinds())
