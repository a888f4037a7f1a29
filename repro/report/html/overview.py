"""The first part of the page: how far all papers have come."""

from collections.abc import Sequence

from repro import __version__
from repro.judging.compared import ComparedCell
from repro.judging.coverage import WAYS, Tally, total, usual_first
from repro.judging.doubts import doubts_in_brief
from repro.judging.summary import cut_measures, summarise
from repro.report.html.elements import Content, Markup, by_scale, el, identifier, plain_table, section
from repro.report.html.listing import to_list
from repro.report.html.sections import Part, Report
from repro.report.html.tables import scrolling
from repro.report.html.verdicts import bar, bars, legend
from repro.report.study_words import capitalised

HOW_TO_READ = (
    "Above stands the published number, beneath what we measured, with a sign for the verdict. "
    "What may not be what would be measured now stands in round brackets; a run that others made, "
    "which is no measurement of ours, in square ones. In quotation marks stands what others report, of "
    "several the closest in kind with their number: no verdict rests on it. "
    "Press a number to see how it is defined, judged and made again; arrow keys go from one to the next."
)


def overview(report: Report) -> Markup:
    """Counts, a card for each paper with a bar for every table, coverage, and what the signs mean."""
    scales = report.scales
    title = el("h2", "What is known of the published numbers")
    meanings = by_scale({scale: (_meaning(scale), _numbers(report, scale)) for scale in scales})
    header = el("header", _origin(report), title, meanings)
    cards = el("div", [_card(part) for part in report.parts], class_="cards")
    papers, coverage_section = section("Papers", cards, place="papers"), _coverage(report.parts)
    signs = section("How to read a cell", el("p", HOW_TO_READ), legend(), place="signs")
    return el("article", header, papers, coverage_section, signs, id="overview", class_="overview")


def _origin(report: Report) -> Content:
    """When and from what the page was made, and when each scale's numbers were recorded."""
    days = {scale: report.dates(scale) for scale in report.scales}
    recorded = {
        scale: f"scale {scale}" + (f", recorded {days[scale][0]} to {days[scale][1]}" if days[scale] else "")
        for scale in report.scales
    }
    origin = " · ".join([f"repro {__version__}", *report.made])
    return el("p", origin, " · ", by_scale(recorded, "span"), class_="eyebrow")


def _meaning(scale: str) -> Markup:
    if scale == "full":
        return el("p", "Measured at the papers' own scale, and judged against their numbers.", class_="lead")
    text = (
        f"Measured at scale {scale}: every recipe ran from end to end, at a fraction of its cost. "
        "These numbers neither confirm nor refute the published ones."
    )
    return el("p", text, class_="lead")


def _numbers(report: Report, scale: str) -> Content:
    """The suite's own measurements first; what others ran is counted by itself."""
    cells = report.compared(scale)
    totals = summarise(cells)
    tiles = [
        (len(report.parts), "papers", None),
        (totals.cells, "published cells", {}),
        (totals.measured, "of these measured", {"only": "measured"}),
        (totals.measurements, "distinct measurements", None),
    ]
    if scale == "full":
        tiles += [(totals.passing, "pass", None), (totals.failing, "fail", {"only": "fails"})]
    if totals.imported:
        tiles += [(totals.imported, "run by others", {"only": "others"})]
    if reported_count := sum(c.reported is not None for c in cells):
        tiles.append((reported_count, "reported by others", {"only": "reported"}))
    items = [
        el("div", el("dt", word), el("dd", to_list(str(number), choice))) for number, word, choice in tiles
    ]
    summary = el("dl", items, class_="tiles"), bar(totals.verdicts, label="verdicts of all papers")
    return el("div", el("p", f"{totals.words}."), summary), _stand_ins(cells)


def _stand_ins(cells: Sequence[ComparedCell]) -> Markup | None:
    """The data that these numbers are of, where they are not the papers'."""
    names = sorted({name for c in cells if c.measured is not None for name in c.stand_ins})
    codes = [(", " if number else "", el("code", name)) for number, name in enumerate(names)]
    notes = filter(None, (cut_measures(cells), doubts_in_brief(cells)))
    note = " ".join(f"{capitalised(text)}." for text in notes)
    data = ("Measured on ", codes, ", which stand in for the papers' data. ") if names else None
    return el("p", data, note) if data or note else None


def _card(part: Part) -> Markup:
    manifest, name = part.paper.manifest, part.paper.name
    first = next(iter(part.views.values()))
    tables = []
    for owner in dict.fromkeys(c.cell.table.id for c in first.compared):
        word = f"Figure {owner.removeprefix('figure-')}" if owner.startswith("figure-") else f"Table {owner}"
        link = el("a", word, href=f"#{identifier(name, owner)}")
        tables.append(el("div", link, bars(part, label=f"{name}, {word}", owner=owner), class_="row"))
    return el(
        "div",
        el("h4", el("a", name, href=f"#{identifier(name)}")),
        el("p", manifest.title, f" ({manifest.venue})" if manifest.venue else ""),
        tables,
        class_="of-paper",
    )


def _coverage(parts: Sequence[Part]) -> Markup | None:
    tallies = [Tally(part.paper.name, part.paper.name, part.covered) for part in parts]
    scales = usual_first(total(tallies, what="all").measured)
    if not any(tally.cells for tally in tallies):
        return None
    head = ["", "published cells", *WAYS, *(f"measured: {scale}" for scale in scales)]
    rows = []
    for tally in (each.published for each in tallies if each.published.cells):
        counts = len(tally.cells), *tally.ways.values(), *(tally.measured[scale] for scale in scales)
        rows.append([tally.paper, *(str(count or "–") for count in counts)])
    table = plain_table(head, rows, class_="plain numbers")
    text = "Every published number, by the strongest way there is to measure it."
    return section("Coverage", el("p", text), scrolling(table, "coverage"), place="coverage")
