"""The sentences and tables of the page: every number is counted from the entries of others.yaml."""

from collections.abc import Sequence
from itertools import groupby

from repro.plugins.reports.findings import (
    ANOTHER,
    Disagreement,
    Finding,
    SupportingReports,
    by_reason,
    cells,
    disagreements,
    entries,
    findings,
    words,
)
from repro.plugins.reports.others import HOW
from repro.plugins.reports.page import Block, Document, Fold, Gallery, Grid, Link, Section, Words
from repro.plugins.reports.pictures import forest_picture, format_difference, format_percent, nearness_picture
from repro.plugins.reports.quantities import (
    COUNTS,
    OTHERS,
    WHO,
    Nearness,
    Quantity,
    System,
    label_of,
    nearnesses,
    published_cells,
    quantities,
    systems,
)
from repro.plugins.reports.reports import Search

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
    """Return the page. Raises ManifestError for a bad file."""
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
    blocks: list[Block] = []
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


def apart_section(found: Sequence[Disagreement]) -> Section:
    """Return how many disagreements there are, what is said to differ, and every value."""
    models = [case for case in found if case.of != "an index of the same texts"]
    retrained = sum(ANOTHER in case.reasons for case in models)
    text = (
        f"{len(found)} times parties state values that rounding does not explain: {len(models)} times of "
        f"a released model or run of one name, in {retrained} of which an entry states another training or "
        f"checkpoint, and {len(found) - len(models)} times of an index of the same texts. The reasons are "
        "what the entries say of their making, where they do not all say the same; a reason that is stated "
        "need not be the cause."
    )
    reasons = [[reason, str(count), f"{spread:.2f}"] for reason, count, spread in by_reason(found)]
    heads = [
        "system",
        "set and measure",
        "published",
        "least",
        "by",
        "greatest",
        "by",
        "points",
        "what is said to differ",
    ]
    blocks: list[Block] = [
        Words(text),
        Grid(["what is said to differ", "disagreements", "median spread, points"], reasons, numbers=1),
        Fold("Released models and runs", [Grid(heads, list(map(_difference, models)))]),
        Fold("Indexes of terms", [Grid(heads, [_difference(case) for case in found if case not in models])]),
        Fold(
            "Every value, and what is said of it",
            [Grid(_HEAD, [row for case in found for row in _values(case)])],
        ),
    ]
    return Section("disagreements", "Where toolkits disagree", blocks)


_HEAD = ["system", "set and measure", "stated", "by", "made how", "what is said of it"]


def _difference(case: Disagreement) -> list:
    lowest, highest = case.entries[0], case.entries[-1]
    row: list[str | Link] = [
        label_of(case.quantity.system),
        case.quantity.name,
        ", ".join(map(format_percent, case.quantity.published)),
    ]
    for entry in (lowest, highest):
        row += [format_percent(entry.value), Link(entry.made.source.name, entry.made.source.address)]
    return [*row, f"{case.spread:.2f}", "; ".join(case.reasons)]


def _values(case: Disagreement) -> list[list]:
    label, name = label_of(case.quantity.system), case.quantity.name
    silent = "nothing"
    return [
        [
            label,
            name,
            format_percent(e.value),
            Link(e.made.source.name, e.made.source.address),
            HOW[e.start],
            words(e) or silent,
        ]
        for e in case.entries
    ]


def never_section(every: Sequence[System]) -> Section:
    """Return systems without a report, each with what was searched, and all systems with their counts."""
    systems = [system for system in every if system.search]
    unreported = [system for system in systems if not system.reports]
    by_authors = [system for system in systems if system.reports and not system.others]
    parts = [system for system in every if not system.search]
    text = (
        f"Of {len(systems)} systems {len(unreported)} have no value of others at all: nobody, their authors "
        f"included, is known to state any of their {sum(len(s.cells) for s in unreported)} numbers "
        f"elsewhere. Of {len(by_authors)} more only the authors do."
    )
    parts_text = (
        f"{len(parts)} rows more are stages and ablations of these systems "
        f"({sum(len(s.cells) for s in parts)} cells, {sum(s.cells_with_value for s in parts)} of them with a "
        "value), which were not looked for by themselves."
    )
    head = ["system", "stands in", "cells", "queries", "places opened", "what the search gave"]
    rows = [_unreported_row(system, system.search) for system in unreported if system.search]
    names = ", ".join(system.label for system in by_authors)
    blocks: list[Block] = [
        Words(text),
        Grid(head, rows),
        Words(f"Only their authors state values: {names}."),
        Words(parts_text),
        _all_systems(systems),
    ]
    return Section("never-reproduced", "Never reproduced", blocks)


def _unreported_row(system: System, search: Search) -> list[str]:
    counts = [str(len(system.cells)), str(len(search.queries)), str(len(set(search.places)))]
    return [system.label, ", ".join(system.papers), *counts, search.note or "nothing"]


def _all_systems(systems: Sequence[System]) -> Fold:
    head = ["system", "cells", "with a value", "by its authors", "by others"]
    rows = [
        [s.label, *map(str, (len(s.cells), s.cells_with_value, s.authors, s.others))]
        for s in sorted(systems, key=lambda s: (-s.others, -s.authors, s.label.lower()))
    ]
    return Fold("All systems, with the number of values", [Grid(head, rows, numbers=1)])


def searches_section(every: Sequence[System]) -> Section:
    """Return every search with its queries, its places, and those that hold nothing."""
    text = (
        "What was looked for and where, so that it can be checked and continued: a value that is missing "
        "here is an entry of papers/*/others.yaml away."
    )
    folds = [Fold(_summary(s), _search(s.search)) for s in every if s.search]
    return Section("searches", "What was looked for, and where in vain", [Words(text), *folds])


def _summary(system: System) -> str:
    entries = system.authors + system.others
    count = f"{entries} value{'' if entries == 1 else 's'}" if entries else "nothing found"
    return f"{system.label} ({', '.join(system.papers)}): {count}"


def _search(search: Search) -> list:
    """Return the part of the page on what somebody looked for, where, and in vain."""
    rows = [
        ["queries", "; ".join(dict.fromkeys(search.queries))],
        ["places opened", "; ".join(dict.fromkeys(search.places))],
        ["in vain", "; ".join(dict.fromkeys(search.in_vain)) or "–"],
        ["runs elsewhere", "; ".join(f"{on}: {where}" for on, where in search.runs.items()) or "none found"],
        ["last look", search.date],
        ["note", search.note or "–"],
    ]
    return [Grid(["", ""], rows)]
