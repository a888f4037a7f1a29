"""Others' reports on a cell: a line in its table, and all of it on its card, with links to the places."""

from repro.plugins.reports.claims_by_others import OthersJudgement
from repro.plugins.reports.others import HOW, OthersValues, rounded_report
from repro.plugins.reports.reports import CellReport
from repro.verdicts.compared import ComparedCell
from repro.writers.html.elements import Content, Markup, el

WHO = {
    "authors": "the system's authors",
    "toolkit": "a toolkit",
    "independent": "independent",
    "later-paper": "a later paper",
}


def line(c: ComparedCell) -> Markup | None:
    """The report that is closest in kind, in quotation marks, and how many there are.

    None below full scale, where nothing is compared with the published numbers.
    """
    if c.others is None or c.scale != "full":
        return None
    number = len(c.others.reports)
    prefix = el("span", ", stated by others ", class_="unseen")
    count = f" ×{number}" if number > 1 else None
    return el("span", prefix, f"“{c.others.shown}”", count, class_="ours others", title=str(c.others))


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
    return el("b", rounded_report(entry.value, entry.cell)), f" {'; '.join(facts)} (", _source(entry), ")"


def _source(entry: CellReport) -> Content:
    """The maker, with a link to the place and, on hovering, the line or row within it."""
    source, place = entry.source, entry.report.at
    return el("a", f"{source.name}, {WHO[source.who]}", href=source.address, title=place or None)


def _making(entry: CellReport) -> str:
    return f"{entry.report.how.start}, {entry.source.name}"


def used_reports(judged: OthersJudgement) -> Markup:
    """The reports that a statement was judged by, folded; their places stand on the cells' cards."""
    items = [
        el("li", el("code", entry.cell.id), f" {rounded_report(entry.value, entry.cell)} ({_making(entry)})")
        for entry in judged.used
    ]
    return el("details", el("summary", judged.basis), el("ul", items, class_="notes"), class_="fine")
