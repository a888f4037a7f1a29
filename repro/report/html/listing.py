"""The list of all cells, which the page's script sorts and filters."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from repro.judging.compared import ComparedCell
from repro.report.grid import label_in_full, shown_measurement, shown_run
from repro.report.html.details import about
from repro.report.html.elements import Content, Markup, by_scale, el
from repro.report.html.sections import Report
from repro.report.html.tables import scrolling
from repro.report.html.verdicts import badge

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
    "by others": None,
    "reported": None,
}
ONLY = {"measured": "only measured", "fails": "only what fails", "others": "only run by others"}
ONLY |= {"reported": "only reported by others"}
ABOUT = "The cells of all papers. Press a system to see how its number is defined, judged and made again."


def cells(report: Report) -> Markup:
    """Every cell of every paper in one table, with controls that stay hidden without a script."""
    heads = [el("th", name, scope="col") for name in COLUMNS]
    lines = [_line(comparisons) for part in report.parts for comparisons in part.cells()]
    body = el("table", el("thead", el("tr", heads)), el("tbody", lines), class_="plain list")
    header = el("header", el("h2", "All cells"), el("p", ABOUT, class_="lead"))
    return el("article", header, _controls(), scrolling(body, "all cells"), id="cells")


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
    count = el("output", aria_live="polite")
    buttons = [
        el("button", "start over", type="reset"),
        el("button", "copy as CSV", type="button", class_="csv"),
    ]
    return el("form", el("label", "search", search), selects, boxes, count, buttons, id="chosen", hidden=True)


def _line(comparisons: Mapping[str, ComparedCell]) -> Markup:
    cell = next(iter(comparisons.values())).cell
    system = el("button", label_in_full(cell.table, cell.row), type="button", popovertarget=about(cell.id))
    column = cell.column.label
    texts = [cell.paper.name, cell.table.id, column, cell.column.dataset, _published_number(cell)]
    by_column = zip(*(_measured_contents(c) for c in comparisons.values()), strict=True)
    spans = [by_scale(dict(zip(comparisons, contents, strict=True)), "span") for contents in by_column]
    values = next(iter(comparisons.values())).reported
    fields = [el("td", content) for content in (*texts, *spans, values.shown if values else "")]
    return el("tr", el("th", system, scope="row"), fields, data_cell=cell.id)


def _published_number(cell) -> str:
    return "" if cell.is_unpublished else cell.printed.plain


def _measured_contents(c: ComparedCell) -> Iterator[Content]:
    yield shown_measurement(c) or ""
    yield "" if c.verdict.difference is None else f"{c.verdict.difference:+.4g}"
    yield badge(c.verdict.name)
    run = c.imported[-1] if c.imported else None
    yield (f"{shown_run(run, c.cell)} ", badge(run.verdict.name, plain=True)) if run else ""
