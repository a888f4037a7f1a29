"""The sentences and tables of the page: every number is counted from the entries of others.yaml."""

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
    "A cell is counted once, in the kind of making that is asked for, however many values there are for "
    "it. A value for a number that several tables print, of one paper or of several, counts in each of "
    "their cells; among the distinct numbers it counts once. Equal means: one number at the coarser "
    "rounding of both. Points are of a percentage. A loose match, where the name is all that says that a "
    "value is of the cell, is drawn hollow and counted nowhere."
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
    numbers, all_systems = list(quantities()), systems()
    lines = nearnesses(numbers)
    sections = [
        _nearness(lines),
        _findings(findings()),
        _forests(numbers),
        apart_section(disagreements(numbers)),
        never_section(all_systems),
        searches_section(all_systems),
    ]
    return Document(
        "what others measured", "Do the published numbers come back elsewhere?", _lead(numbers), sections
    )


def _lead(numbers: Sequence[Quantity]) -> list[Words]:
    reports = sum(len(quantity.entries) for quantity in numbers)
    sources = {e.made.source.place for quantity in numbers for e in quantity.entries}
    cell_count = sum(len(quantity.cells) for quantity in numbers)
    cells = published_cells()
    text = (
        f"{reports} values that toolkits, later papers, authors elsewhere and whoever tried state at "
        f"{len(sources)} places, on {cell_count} of the {len(cells)} published numbers of "
        f"{len({cell.paper.name for cell in cells})} papers. None of them is a measurement of this suite, "
        "and no verdict rests on them."
    )
    return [Words(text, "lead")]


def _nearness(lines: Sequence[Nearness]) -> Section:
    by_kind = {(line.kind, line.by): line for line in lines}
    totals = {kind: by_kind[kind, "all"] for kind in SPOKEN if (kind, "all") in by_kind}
    sentences = [
        _sentence(total, by_kind.get((kind, OTHERS)), SPOKEN[kind]) for kind, total in totals.items()
    ]
    drawn_lines = [n for n in lines if n.by == "all" or (n.by in WHO.values() and n.kind in SPOKEN)]
    pictures = [Gallery([nearness_picture(drawn_lines)])] if drawn_lines else []
    return Section(
        "nearness",
        "How often the number comes back",
        [*map(Words, sentences), *pictures, _counts(lines), Words(COUNTING, "fine")],
    )


def _sentence(total: Nearness, independent: Nearness | None, words: str) -> str:
    """Say how near others than the authors come, where there are any, and then what is so of all reports."""
    first = independent or total
    differs = independent and (independent.cells, independent.reports) != (total.cells, total.reports)
    addition = f" With what the authors state elsewhere it is {_equal_counts(total)}." if differs else ""
    return (
        f"{'Others than the authors' if independent else 'Authors'} who {words} find the published number "
        f"to the last digit in {_equal_counts(first)}, within 0.1 of a point in {first.within[0]} and "
        f"within 0.5 in {first.within[1]} of these cells.{addition} The median difference is "
        f"{first.size:.2f} points, its sign left aside; the median value of a cell is lower than published "
        f"in {first.lower} cells and higher in {first.higher}. A single value is behind {first.single} of "
        f"the cells{'; these are counts without the authors' if differs else ''}."
    )


def _equal_counts(line: Nearness) -> str:
    distinct = f"{line.equal_numbers} of {line.numbers} distinct numbers"
    return f"{line.equal} of {line.cells} cells, which are {distinct}"


def _counts(lines: Sequence[Nearness]) -> Fold:
    head = ["made how, stated by whom", *COUNTS, "median difference", "its size"]
    rows = [
        [
            n.kind if n.by == "all" else f"– {n.by}",
            *map(str, n.counts),
            format_difference(n.signed),
            f"{n.size:.2f}",
        ]
        for n in lines
    ]
    return Fold("By how it was made and who states it", [Grid(head, rows, numbers=1)])


def _findings(items: Sequence[Finding]) -> Section:
    blocks = []
    for finding in items:
        blocks.append(Words(f"{finding.title}.", "finding"))
        blocks.append(Words(finding.says))
        rows = [[ground.number, *_ground(ground)] for ground in finding.grounds if not ground.less]
        blocks.append(Fold("What this rests on", [Grid(["number", "of", "stated by"], rows)]))
    return Section("findings", "What one would not have guessed", blocks)


def _ground(ground: SupportingReports) -> list:
    subject = ground.cell if ground.take == "value" else f"{ground.take} of {ground.cell}"
    if not ground.source:
        return [subject, f"published ({cells(ground)[0].paper.name})"]
    reports = entries(ground)
    if ground.source == "any":
        return [subject, f"{len({id(r.report) for r in reports})} values"]
    return [subject, Link(reports[0].source.place, reports[0].source.address)]


def _forests(numbers: Sequence[Quantity]) -> Section:
    by_system = {name: list(group) for name, group in groupby(numbers, key=lambda quantity: quantity.system)}
    order = sorted(by_system, key=lambda name: (-sum(len(q.entries) for q in by_system[name]), name))
    pictures = [forest_picture(name, by_system[name]) for name in order]
    return Section("systems", "System by system", [Words(MARKS), Gallery(pictures)])
