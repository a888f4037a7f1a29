"""The first part of the page: how far all papers have come."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from repro import __version__
from repro.verdicts.additions import kinds
from repro.verdicts.compared import ComparedCell
from repro.verdicts.coverage import WAYS, Tally, place_of, total, usual_first, ways_of_knowing
from repro.verdicts.summary import cut_measures, doubts_in_brief, summarise
from repro.writers.grid import capitalised
from repro.writers.html.cells import to_list
from repro.writers.html.elements import (
    Content,
    Markup,
    badge,
    bar,
    bars,
    el,
    identifier,
    legend,
    plain_table,
    section,
)
from repro.writers.html.sections import Part, Report
from repro.writers.html.tables import scrolling

HOW_TO_READ = (
    "Above stands the published number, beneath what we measured, with a sign for the verdict. "
    "What may not be what would be measured now stands in round brackets; a run that others made, "
    "which is no measurement of ours, in square ones. "
)
PRESS = "Press a number to see how it is defined, judged and made again; arrow keys go from one to the next."


def overview(report: Report) -> Markup:
    """Return what is known of the published numbers, then the scale's counts, papers, coverage, and signs."""
    tallies = {name: Tally(name, name, items).published for name, items in report.known.items()}
    tallies = {name: tally for name, tally in tallies.items() if tally.cells}
    everything = total(tallies.values(), what="all")
    number = len(everything.cells)
    how_to_read = HOW_TO_READ + " ".join([*(kind.how_to_read for kind in kinds()), PRESS])
    title = el("h2", f"What is known of {number} published number{'s' if number != 1 else ''}")
    known = [_known(report, tallies, everything)] if tallies else []
    return el(
        "article",
        el("header", _origin(report), title, known),
        section(f"Measured at scale {report.scale}", *_numbers(report), place="measured"),
        section("Papers", el("div", map(_card, report.parts), class_="cards"), place="papers"),
        _coverage(tallies.values(), everything),
        section("How to read a cell", el("p", how_to_read), legend(), place="signs"),
        id="overview",
        class_="overview",
    )


def _origin(report: Report) -> Markup:
    """When and from what the page was made, and when the scale's numbers were recorded."""
    recorded = [f"recorded {' to '.join(dict.fromkeys(report.dates))}"] if report.dates else []
    origin = " · ".join([f"repro {__version__}", *report.made, f"scale {report.scale}", *recorded])
    return el("p", origin, class_="eyebrow")


def _known(report: Report, tallies: Mapping[str, Tally], everything: Tally) -> Content:
    """Every published number by the strongest that is known of it, in all and paper by paper."""
    rehearsed = usual_first({scale for c in everything.cells for scale in c.rehearsed})
    ways = [f"also rehearsed: {scale}" for scale in rehearsed]
    last = {"all": everything} if len(tallies) > 1 else {}
    rows = [[name, *_known_counts(tally, rehearsed)] for name, tally in {**tallies, **last}.items()]
    head = ["", "published", *ways_of_knowing(), "equal to theirs", *ways, "cannot be measured"]
    table = scrolling(plain_table(head, rows, class_="plain numbers"), "what is known, by paper")
    to_do = report.to_do.get("")
    meanings = [el("div", el("dt", badge(name)), el("dd", text)) for name, text in ways_of_knowing().items()]
    return (
        bar(everything.known, label="what is known of all published numbers"),
        el("p", f"What is not measured here takes {to_do}.") if to_do else None,
        table,
        el("details", el("summary", "what these words mean"), el("dl", meanings, class_="legend")),
    )


def _meaning(scale: str) -> Markup:
    if scale == "full":
        return el("p", "Measured at the papers' own scale, and judged against their numbers.", class_="lead")
    text = (
        f"Measured at scale {scale}: every recipe ran from end to end, at a fraction of its cost. "
        "These numbers neither confirm nor refute the published ones."
    )
    return el("p", text, class_="lead")


def _known_counts(tally: Tally, rehearsed: Sequence[str]) -> list[str]:
    equal = sum(c.equal for c in tally.cells)
    scales = (sum(scale in c.rehearsed for c in tally.cells) for scale in rehearsed)
    counts = len(tally.cells), *tally.known.values(), equal, *scales, tally.ways["not measurable"]
    return [str(count or "–") for count in counts]


def _numbers(report: Report) -> Iterator[Content]:
    """The suite's own measurements first; what others ran is counted by itself."""
    cells = report.compared
    totals = summarise(cells)
    yield _meaning(report.scale)
    yield el("p", f"{report.words}.")
    tiles = [
        (totals.measured, "measured", {"only": "measured"}),
        (totals.measurements, "distinct measurements", None),
    ]
    if report.scale == "full":
        tiles += [(totals.passing, "pass", None), (totals.failing, "fail", {"only": "fails"})]
    if totals.imported:
        tiles += [(totals.imported, "run by others", {"only": "run"})]
    counts = {kind: sum(kind.name in c.side_values for c in cells) for kind in kinds()}
    tiles += [(count, kind.label, {"only": kind.only}) for kind, count in counts.items() if count]
    items = [
        el("div", el("dt", word), el("dd", to_list(str(number), choice))) for number, word, choice in tiles
    ]
    yield el("dl", items, class_="tiles")
    yield bar(totals.verdicts, label="verdicts of all papers")
    yield _stand_ins(cells)


def _stand_ins(cells: Sequence[ComparedCell]) -> Markup | None:
    """The data that these numbers are of, where they are not the papers'."""
    names = sorted({name for c in cells if c.measured is not None for name in c.stand_ins})
    codes = [(", " if number else "", el("code", name)) for number, name in enumerate(names)]
    notes = filter(None, (cut_measures(cells), doubts_in_brief(cells)))
    note = " ".join(f"{capitalised(text)}." for text in notes)
    data = ("Measured on ", codes, ", which stand in for the papers' data. ") if names else None
    return el("p", data, note) if data or note else None


def _card(part: Part) -> Markup:
    """A paper's card: each table by what is known of its numbers, or by verdicts where it has none."""
    manifest, name = part.paper.manifest, part.paper.name
    tables = []
    for owner in dict.fromkeys(c.cell.table.id for c in part.cells()):
        word = f"Figure {owner.removeprefix('figure-')}" if owner.startswith("figure-") else f"Table {owner}"
        link = el("a", word, href=f"#{identifier(name, owner)}")
        cells = [c for c in part.covered if c.place == place_of(owner)]
        known, label = Tally(name, owner, cells).published, f"{name}, {word}"
        strip = bar(known.known, label=label) if known.cells else bars(part.cells(owner), label=label)
        tables.append(el("div", link, strip, class_="row"))
    return el(
        "div",
        el("h4", el("a", name, href=f"#{identifier(name)}")),
        el("p", manifest.title, f" ({manifest.venue})" if manifest.venue else ""),
        tables,
        class_="of-paper",
    )


def _coverage(tallies: Iterable[Tally], everything: Tally) -> Markup | None:
    if not everything.cells:
        return None
    rows = []
    for tally in tallies:
        rows.append([tally.paper, *(str(n or "–") for n in (len(tally.cells), *tally.ways.values()))])
    table = plain_table(["", "published", *WAYS], rows, class_="plain numbers")
    text = "Every published number, by the strongest way there is to measure it."
    return section("Coverage", el("p", text), scrolling(table, "coverage"), place="coverage")
