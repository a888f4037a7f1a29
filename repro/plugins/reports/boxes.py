"""Others' reports on a cell: a line in its table, and all of it on its card, with links to the places."""

from repro.plugins.reports.others import HOW, OthersValues
from repro.plugins.reports.reports import CellReport
from repro.writers.html.elements import Content, Markup, el

WHO = {
    "authors": "the system's authors",
    "toolkit": "a toolkit",
    "independent": "independent",
    "later-paper": "a later paper",
}


def line(values: OthersValues) -> Markup:
    """Return the report that is closest in kind, in quotation marks, and how many there are."""
    prefix = el("span", ", stated by others ", class_="unseen")
    count = f" ×{values.count}" if values.count > 1 else None
    return el("span", prefix, f"“{values.shown}”", count, class_="ours others", title=str(values))


def on_card(others: OthersValues) -> Content:
    """The closest report and, folded, the others."""
    first = _report(others.closest)
    if len(others.reports) == 1:
        return first
    summary = el("summary", f"{len(others.reports)} values, {others.between}: the others")
    items = [el("li", _report(entry)) for entry in others.reports[1:]]
    return first, el("details", summary, el("ul", items, class_="notes"))


def _report(entry: CellReport) -> Content:
    """One report: value, maker, making, what differs, how sure the match is, and a link to its place."""
    report = entry.report
    facts = [HOW[report.how.start], *report.how.differs]
    facts += [f"match {report.match}"] if report.match != "exact" else []
    facts += [report.note] if report.note else []
    return el("b", entry.shown), f" {'; '.join(facts)} (", _source(entry), ")"


def _source(entry: CellReport) -> Content:
    """The maker, with a link to the place and, on hovering, the line or row within it."""
    source, place = entry.source, entry.report.at
    return el("a", f"{source.name}, {WHO[source.who]}", href=source.address, title=place or None)
