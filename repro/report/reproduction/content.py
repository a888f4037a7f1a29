"""The sentences and tables of the page: every number is counted from the entries of reports.yaml."""

from collections.abc import Sequence
from itertools import groupby

from repro.judging.reproduction.disagreements import disagreements
from repro.judging.reproduction.nearness import COUNTS, OTHERS, WHO, Nearness, nearnesses
from repro.judging.reproduction.quantities import Quantity, published_cells, quantities
from repro.judging.reproduction.systems import systems
from repro.manifest.findings import Finding, SupportingReports, cells, entries, findings
from repro.report.reproduction.apart import apart_section
from repro.report.reproduction.blocks import Document, Fold, Gallery, Grid, Link, Section, Words
from repro.report.reproduction.pictures import forest_picture, format_difference, nearness_picture
from repro.report.reproduction.searched import never_section, searches_section

SPOKEN = {
    "released model or run": "take the released model or run",
    "training again": "train again",
}
COUNTING = (
    "A cell is counted once, in the kind of making that is asked for, however many reports there are on "
    "it. A report on a number that several tables print, of one paper or of several, counts in each of "
    "their cells; among the distinct numbers it counts once. Equal means: one number at the coarser "
    "rounding of both. Points are of a percentage. A loose match, where the name is all that says that a "
    "report is on the cell, is drawn hollow and counted nowhere."
)
MARKS = (
    "Circles are released checkpoints encoded again, squares released runs scored again, diamonds models "
    "trained from the start, triangles models fine-tuned from a released pre-training, crosses indexes of "
    "terms, and slanted crosses values of which nobody says how they were made. The line at 0 is the "
    "published number; a second line is what another paper prints of the same. Hollow marks are loose "
    "matches."
)


def document() -> Document:
    """The page. Raises ManifestError for a bad file."""
    known, every = list(quantities()), systems()
    lines = nearnesses(known)
    sections = [
        _nearness(lines),
        _findings(findings()),
        _forests(known),
        apart_section(disagreements(known)),
        never_section(every),
        searches_section(every),
    ]
    return Document(
        "what others measured", "Do the published numbers come back elsewhere?", _lead(known), sections
    )


def _lead(known: Sequence[Quantity]) -> list[Words]:
    reports = sum(len(quantity.entries) for quantity in known)
    sources = {e.made.source.place for quantity in known for e in quantity.entries}
    with_any = sum(len(quantity.cells) for quantity in known)
    cells = published_cells()
    told = (
        f"{reports} values that toolkits, later papers, authors elsewhere and whoever tried report from "
        f"{len(sources)} places, on {with_any} of the {len(cells)} published numbers of "
        f"{len({cell.paper.name for cell in cells})} papers. None of them is a measurement of this suite, "
        "and no verdict rests on them."
    )
    return [Words(told, "lead")]


def _nearness(lines: Sequence[Nearness]) -> Section:
    by = {(line.kind, line.by): line for line in lines}
    wholes = {kind: by[kind, "all"] for kind in SPOKEN if (kind, "all") in by}
    told = [_told(whole, by.get((kind, OTHERS)), SPOKEN[kind]) for kind, whole in wholes.items()]
    shown = [n for n in lines if n.by == "all" or (n.by in WHO.values() and n.kind in SPOKEN)]
    pictures = [Gallery([nearness_picture(shown)])] if shown else []
    return Section(
        "nearness",
        "How often the number comes back",
        [*map(Words, told), *pictures, _counts(lines), Words(COUNTING, "fine")],
    )


def _told(whole: Nearness, others: Nearness | None, words: str) -> str:
    """Say how near others than the authors come, where there are any, and then what is so of all reports."""
    first = others or whole
    apart = others and (others.cells, others.reports) != (whole.cells, whole.reports)
    more = f" With what the authors state elsewhere it is {_equal(whole)}." if apart else ""
    return (
        f"{'Others than the authors' if others else 'Authors'} who {words} find the published number to the "
        f"last digit in {_equal(first)}, within 0.1 of a point in {first.within[0]} and within 0.5 in "
        f"{first.within[1]} of these cells.{more} The median difference is "
        f"{first.size:.2f} points, its sign left aside; the median report of a cell is lower than published "
        f"in {first.lower} cells and higher in {first.higher}. A single report is behind {first.single} of "
        f"the cells{'; these are counts without the authors' if apart else ''}."
    )


def _equal(line: Nearness) -> str:
    distinct = f"{line.equal_numbers} of {line.numbers} distinct numbers"
    return f"{line.equal} of {line.cells} cells, which are {distinct}"


def _counts(lines: Sequence[Nearness]) -> Fold:
    head = ["made how, reported by whom", *COUNTS, "median difference", "its size"]
    rows = [
        [
            n.kind if n.by == "all" else f"– {n.by}",
            *map(str, n.counts),
            format_difference(n.signed),
            f"{n.size:.2f}",
        ]
        for n in lines
    ]
    return Fold("By how it was made and who reports", [Grid(head, rows, numbers=1)])


def _findings(stated: Sequence[Finding]) -> Section:
    blocks = []
    for finding in stated:
        blocks.append(Words(f"{finding.title}.", "finding"))
        blocks.append(Words(finding.says))
        rows = [[ground.number, *_ground(ground)] for ground in finding.grounds if not ground.less]
        blocks.append(Fold("What this rests on", [Grid(["number", "of", "stated by"], rows)]))
    return Section("findings", "What one would not have guessed", blocks)


def _ground(ground: SupportingReports) -> list:
    on = ground.cell if ground.take == "value" else f"{ground.take} of {ground.cell}"
    if not ground.source:
        return [on, f"published ({cells(ground)[0].paper.name})"]
    made = entries(ground)
    if ground.source == "any":
        return [on, f"{len({id(r.report) for r in made})} reports"]
    return [on, Link(made[0].source.place, made[0].source.address)]


def _forests(known: Sequence[Quantity]) -> Section:
    by_system = {name: list(of) for name, of in groupby(known, key=lambda quantity: quantity.system)}
    order = sorted(by_system, key=lambda name: (-sum(len(q.entries) for q in by_system[name]), name))
    pictures = [forest_picture(name, by_system[name]) for name in order]
    return Section("systems", "System by system", [Words(MARKS), Gallery(pictures)])
