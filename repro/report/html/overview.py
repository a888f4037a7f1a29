"""The first part of the page: how far all papers have come."""

from collections import Counter
from collections.abc import Sequence

from repro.judging.coverage import WAYS, Tally, total, usual_first
from repro.judging.verdict import FAILS, PASSES
from repro.report.html.elements import Markup, el, identifier, plain_table, section
from repro.report.html.sections import Part, Report
from repro.report.html.tables import scrolling
from repro.report.html.verdicts import bar, legend

HOW_TO_READ = (
    "Above stands the published number, beneath what we measured, with a sign for the verdict. "
    "What is not measured as the manifest is now stands in brackets. "
    "Press a number to see how it is defined, judged and made again."
)


def overview(report: Report) -> Markup:
    """Counts, a card for each paper with a bar for every table, coverage, and what the signs mean."""
    title = (
        el("p", f"scale {report.scale}", class_="eyebrow"),
        el("h2", "Every published number, beside ours"),
    )
    header = el("header", title, _meaning(report), _numbers(report))
    cards = el("div", [_card(part) for part in report.parts], class_="cards")
    papers, covered = section("Papers", cards, place="papers"), _coverage(report.parts)
    signs = section("How to read a cell", el("p", HOW_TO_READ), legend(), place="signs")
    return el("article", header, papers, covered, signs, id="overview", class_="overview")


def _meaning(report: Report) -> Markup:
    if report.scale == "full":
        return el("p", "Measured at the papers' own scale, and judged against their numbers.", class_="lead")
    about = (
        f"Measured at scale {report.scale}: every recipe ran from end to end, at a fraction of its cost. "
        "These numbers neither confirm nor refute the published ones."
    )
    return el("p", about, class_="lead")


def _numbers(report: Report) -> Markup:
    cells = [c for part in report.parts for c in part.compared]
    counts = Counter(c.verdict.name for c in cells)
    measured = sum(c.measured is not None for c in cells)
    tiles = [(len(report.parts), "papers"), (len(cells), "cells"), (measured, "measured")]
    if report.scale == "full":
        tiles += [
            (sum(counts[name] for name in PASSES), "pass"),
            (sum(counts[name] for name in FAILS), "fail"),
        ]
    items = [el("div", el("dt", word), el("dd", str(number))) for number, word in tiles]
    return el("div", el("dl", items, class_="tiles"), bar(counts, label="verdicts of all papers"))


def _card(part: Part) -> Markup:
    manifest, name = part.paper.manifest, part.paper.name
    tables = []
    for owner in dict.fromkeys(c.cell.table.id for c in part.compared):
        counts = Counter(c.verdict.name for c in part.compared if c.cell.table.id == owner)
        word = f"Figure {owner.removeprefix('figure-')}" if owner.startswith("figure-") else f"Table {owner}"
        link = el("a", word, href=f"#{identifier(name, owner)}")
        tables.append(el("div", link, bar(counts, label=f"{name}, {word}"), class_="row"))
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
    head = ["", "cells", *WAYS, *(f"measured: {scale}" for scale in scales)]
    rows = []
    for tally in tallies:
        counts = len(tally.cells), *tally.ways.values(), *(tally.measured[scale] for scale in scales)
        rows.append([tally.paper, *(str(count or "–") for count in counts)])
    table = plain_table(head, rows, class_="plain numbers")
    about = "Every number, point of a figure and view, by the strongest way there is to measure it."
    return section("Coverage", el("p", about), scrolling(table, "coverage"), place="coverage")
