"""The drawings of the page, with the numbers behind each."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from repro.manifest.decimals import decimals_of
from repro.plugins.reports.findings import words
from repro.plugins.reports.forest import Mark, Strip, forest
from repro.plugins.reports.others import HOW
from repro.plugins.reports.page import Fold, Grid, Link, Picture
from repro.plugins.reports.quantities import COUNTS, WHO, Entry, Nearness, Quantity, label_of
from repro.plugins.reports.shares import Bar, shares

SHARES = ("to the last digit", "within 0.1", "within 0.5", "farther")
CSV = (
    *("quantity", "cells", "published", "others", "difference", "unit", "made", "match", "who", "name"),
    *("measure", "dataset", "differs", "note", "place", "at", "address"),
)


def nearness_picture(lines: Sequence[Nearness]) -> Picture:
    """The shares of cells by how near the nearest report comes, a bar for each kind and for who reports."""
    bars = []
    for line in lines:
        steps = (0, line.equal, *line.within, line.cells)
        counts = tuple(high - low for low, high in pairwise(steps))
        text = ", ".join(f"{count} {name}" for count, name in zip(counts, SHARES, strict=True))
        name = line.kind if line.by == "all" else f"{line.kind}: {line.by}"
        bars.append(Bar(name, counts, f"{name}, {line.cells} cells: {text}."))
    title = "Cells in which the nearest value of others gives the published number"
    head = ["kind", "part", *COUNTS, "median difference", "median size of the difference"]
    rows = [[n.kind, n.by, *n.counts, f"{n.signed:.3f}", f"{n.size:.3f}"] for n in lines]
    drawings = (shares(title, SHARES, bars, alone=alone) for alone in (False, True))
    return Picture("nearness", title, *drawings, head, rows)


def forest_picture(system: str, known: Sequence[Quantity]) -> Picture:
    """The published and reported numbers of one system, and beneath a table of all of them with links."""
    label = label_of(system)
    names = _names(known)
    strips = [_strip(quantity, name) for quantity, name in zip(known, names, strict=True)]
    title = f"{label}: published, and stated by others"
    drawings = (forest(title, strips, alone=alone) for alone in (False, True))
    rows = [row for quantity, name in zip(known, names, strict=True) for row in _csv(quantity, name)]
    count = sum(len(quantity.entries) for quantity in known)
    fold = Fold(f"All {count} values" if count > 1 else "The value", [_table(known, names)])
    return Picture(f"forest-{system}", label, *drawings, CSV, rows, below=[fold])


def _names(quantities: Sequence[Quantity]) -> list[str]:
    """The name of each quantity, with its paper or its setting where another has the same set and measure."""
    names = []
    for quantity in quantities:
        column = quantity.cells[0].column
        peers = [q for q in quantities if q is not quantity and _task(q) == (column.dataset, column.measure)]
        disjoint = all(quantity.papers.isdisjoint(other.papers) for other in peers)
        tail = " ".join(sorted(quantity.papers)) if disjoint else quantity.setting
        names.append(f"{quantity.name}, {tail}" if peers and tail else quantity.name)
    return names


def _task(quantity: Quantity) -> tuple:
    column = quantity.cells[0].column
    return column.dataset, column.measure


def _strip(quantity: Quantity, name: str) -> Strip:
    values = list(quantity.published)
    base, low, high = values[0], *quantity.span
    number = ", ".join(map(format_percent, values))
    span = format_percent(low) if low == high else f"{format_percent(low)} – {format_percent(high)}"
    count = len(quantity.entries)
    marks = tuple(
        Mark(float(e.value - base), e.start, not e.counted, f"{format_percent(e.value)}: {maker(e)}")
        for e in quantity.entries
    )
    text = f"{name}: published {number}, stated by others {span} ({count})."
    offsets = tuple(float(value - base) for value in values)
    return Strip(name, f"{number}: {span} ({count})", offsets, marks, text)


def format_percent(value: Decimal) -> str:
    """A number in percent to two decimals at most, with the zeros that it was stated with."""
    return str(round(value, min(2, decimals_of(value))))


def format_difference(difference: float) -> str:
    """A difference in points to two decimals, with its sign."""
    words = f"{difference:+.2f}"
    return "0.00" if words in ("+0.00", "-0.00") else words.replace("-", "−")


def maker(entry: Entry) -> str:
    """The reporter and the way it was made."""
    return f"{entry.made.source.name} ({WHO[entry.made.source.who]}), {HOW[entry.start]}"


def _csv(quantity: Quantity, name: str) -> Iterator[list]:
    for entry in quantity.entries:
        cell_report, report = entry.made, entry.made.report
        for value, cells in quantity.published.items():
            yield [
                name,
                " ".join(cell.id for cell in cells),
                format_percent(value),
                entry.value,
                entry.value - value,
                "percent",
                report.how.start,
                report.match,
                cell_report.source.who,
                cell_report.source.name,
                report.measure,
                report.dataset,
                "; ".join(report.how.differs),
                report.note,
                cell_report.source.place,
                report.at,
                cell_report.source.address,
            ]


def _table(quantities: Sequence[Quantity], names: Sequence[str]) -> Grid:
    rows = []
    for quantity, name in zip(quantities, names, strict=True):
        values = ", ".join(map(format_percent, quantity.published))
        for entry in sorted(quantity.entries, key=lambda e: e.value):
            place = Link(entry.made.source.name, entry.made.source.address)
            making = HOW[entry.start] + ("" if entry.counted else "; loose match")
            rows.append([name, values, format_percent(entry.value), place, making, words(entry)])
    return Grid(["set and measure", "published", "stated", "by", "made how", "what is said of it"], rows)
