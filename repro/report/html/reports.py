"""Others' reports on a cell: a line in its table, and all of it on its card, with links to the places."""

from repro.judging.claims.by_reports import ReportsJudgement
from repro.judging.compared import ComparedCell
from repro.judging.reported import HOW, ReportedValues, rounded_report
from repro.manifest.reports import CellReport
from repro.report.html.elements import Content, Markup, el

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
    if c.reported is None or c.scale != "full":
        return None
    number = len(c.reported.reports)
    hidden = el("span", ", reported by others ", class_="unseen")
    count = f" ×{number}" if number > 1 else None
    return el(
        "span", hidden, f"“{c.reported.shown}”", count, class_="ours others", title=_in_short(c.reported)
    )


def _in_short(others: ReportedValues) -> str:
    near = others.closest
    count = f"{len(others.reports)} reports, {others.between}" if len(others.reports) > 1 else "1 report"
    return f"{count}; closest in kind: {HOW[near.report.how.start]} ({near.source.name})"


def on_card(others: ReportedValues) -> Content:
    """The closest report and, folded, the others."""
    first = _report(others.closest)
    if len(others.reports) == 1:
        return first
    summary = el("summary", f"{len(others.reports)} reports, {others.between}: the others")
    more = [el("li", _report(made)) for made in others.reports[1:]]
    return first, el("details", summary, el("ul", more, class_="notes"))


def _report(made: CellReport) -> Content:
    """One report: value, maker, making, what differs, how sure the match is, and a link to its place."""
    stated = made.report
    known = [HOW[stated.how.start], *stated.how.differs]
    known += [f"match {stated.match}"] if stated.match != "exact" else []
    known += [stated.note] if stated.note else []
    return el("b", rounded_report(made.value, made.cell)), f" {'; '.join(known)} (", _source(made), ")"


def _source(made: CellReport) -> Content:
    """The maker, with a link to the place and, on hovering, the line or row within it."""
    source, at = made.source, made.report.at
    return el("a", f"{source.name}, {WHO[source.who]}", href=source.address, title=at or None)


def _making(made: CellReport) -> str:
    return f"{made.report.how.start}, {made.source.name}"


def used_reports(judged: ReportsJudgement) -> Markup:
    """The reports that a statement was judged by, folded; their places stand on the cells' cards."""
    items = [
        el("li", el("code", made.cell.id), f" {rounded_report(made.value, made.cell)} ({_making(made)})")
        for made in judged.used
    ]
    return el("details", el("summary", judged.basis), el("ul", items, class_="notes"), class_="fine")
