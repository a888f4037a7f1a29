"""The drawings of the page: forest plots, bars cut into shares, and the numbers behind each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import asinh
from typing import NamedTuple

from repro.manifest.printed import decimals_of
from repro.plugins.reports.findings import words
from repro.plugins.reports.others import HOW
from repro.plugins.reports.page import Fold, Grid, Link, Picture
from repro.plugins.reports.quantities import COUNTS, WHO, Entry, Nearness, Quantity, label_of
from repro.writers.html.elements import Content, Markup, el

WIDTH, SIDE, LINE, LANE, FOOT, ROW = 420, 10, 17, 9, 34, 16  # in units of the drawing
TITLE = 18  # of a drawing in a file of its own; in a page the title stands above it
LIMITS = (1, 2, 5, 10, 20, 30)
TICKS = (0.5, 1, 2, 5, 10, 20)
NEAR = 0.5  # of a point: the band about the published number
# A mark for each way of making, by shape and colour; the colours are Okabe and Ito's.
MARKS = {
    "checkpoint": ("released", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"),
    "run": ("released", "M-3.5 -3.5h7v7h-7z"),
    "index": ("index", "M-1.4 -4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z"),
    "trained": ("again", "M0 -5L5 0L0 5L-5 0z"),
    "fine-tuned": ("again", "M0 -4.8L4.6 3.6H-4.6z"),
    "unknown": ("unsaid", "M-4-2.6L-2.6-4L0-1.4L2.6-4L4-2.6L1.4 0L4 2.6L2.6 4L0 1.4L-2.6 4L-4 2.6L-1.4 0z"),
}  # fmt: off
NAMES = {
    "checkpoint": "released checkpoint",
    "run": "released run",
    "index": "index of terms",
    "trained": "trained",
    "fine-tuned": "fine-tuned",
    "unknown": "not said how",
}
LOOSE = "loose match"  # drawn hollow
# What a drawing needs that stands in a file of its own; a page has the same rules in its stylesheet.
STYLE = Markup(
    "svg{background:#fff;font-family:'DejaVu Sans',Verdana,sans-serif}"
    "text{fill:#20242a;font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}.soft{fill:#5a616b;font-size:10px}"
    ".near{fill:#efeeea}.zero{stroke:#20242a;stroke-width:1.2}.grid{stroke:#dedbd2}.span{stroke:#9aa0a8}"
    ".published{stroke:#20242a;stroke-width:2.4}path{stroke-width:1.2}"
    ".released{fill:#0072b2;stroke:#0072b2}.again{fill:#d55e00;stroke:#d55e00}"
    ".index{fill:#007a5a;stroke:#007a5a}.unsaid{fill:#555;stroke:#555}.loose{fill:#fff}"
)


class Mark(NamedTuple):
    """One report.

    Attributes:
        difference: reported less the first published number, in points.
        made: a key of ``MARKS``.
        loose: drawn hollow.
        words: shown where the pointer rests on it.
    """

    difference: float
    made: str
    loose: bool
    words: str


@dataclass(frozen=True)
class Strip:
    """One quantity.

    Attributes:
        published: the published numbers, each less the first, which stands at zero.
        told: at the right above the strip.
        words: a sentence for who does not see the picture.
    """

    name: str
    told: str
    published: tuple[float, ...]
    marks: tuple[Mark, ...]
    words: str

    @property
    def farthest(self) -> float:
        """The greatest difference from the line at zero."""
        return max(map(abs, (*self.published, *(mark.difference for mark in self.marks))))


def forest(title: str, strips: Sequence[Strip], *, alone: bool = False) -> Markup:
    """Return the drawing, with its title and a description that tells every strip.

    Args:
        alone: for a file of its own, with the rules by which it is coloured, on white.
    """
    axis = _Axis.for_(strip.farthest for strip in strips)
    head = 26.0 + TITLE * alone
    parts, top = [], head
    for strip in strips:
        lanes = _lanes([axis.at(mark.difference) for mark in strip.marks])
        height = LANE * (max(lanes, default=0) - min(lanes, default=0) + 1) + 6
        parts.append(_strip(strip, axis, lanes, top, height))
        top += LINE + height + 4
    legend, bottom = _legend(strips, top + FOOT + 8)
    columns = "published: least – greatest value (number)"
    return _drawing(
        title,
        [strip.words for strip in strips],
        el("text", columns, x=WIDTH - SIDE, y=head - 12, text_anchor="end", class_="soft"),
        _scale(axis, head, top),
        parts,
        legend,
        height=round(bottom),
        look="forest",
        style=STYLE if alone else None,
    )


def _drawing(
    title: str, words: Iterable[str], *parts: Content, height: int, look: str, style: Markup | None
) -> Markup:
    """Return an SVG with a title and a description.

    Args:
        style: the colours of a file of its own, where the title is drawn, too; None in a page, which has both
    """
    return el(
        "svg",
        el("title", title),
        el("desc", " ".join(words)),
        [el("style", style), el("text", title, x=SIDE, y=16)] if style else None,
        *parts,
        xmlns="http://www.w3.org/2000/svg" if style else None,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=title,
        class_=look,
    )


def _legend(strips: Sequence[Strip], top: float) -> tuple[list[Markup], float]:
    """Return a legend of the marks of these strips, in as many rows as it takes, and where it ends."""
    marks = list(itertools.chain.from_iterable(strip.marks for strip in strips))
    entries = [(NAMES[making], making, False) for making in MARKS if making in {mark.made for mark in marks}]
    entries += [(LOOSE, entries[0][1], True)] if any(mark.loose for mark in marks) else []
    elements, x, y = [], float(SIDE), top
    for name, making, loose in entries:
        width = 24 + 6.2 * len(name)
        if x + width > WIDTH:
            x, y = float(SIDE), y + ROW
        kind, path = MARKS[making]
        look = f"{kind} loose" if loose else kind
        elements.append(el("path", d=path, transform=f"translate({x + 5:g} {y:g})", class_=look))
        elements.append(el("text", name, x=f"{x + 14:g}", y=f"{y + 3.5:g}", class_="soft"))
        x += width
    return elements, y + ROW / 2


@dataclass(frozen=True)
class _Axis:
    """Points of difference to ``limit`` either way, nearly even within half a point and closer beyond."""

    limit: float

    @classmethod
    def for_(cls, farthest: Iterable[float]) -> _Axis:
        maximum = max(farthest, default=0)
        return cls(next((limit for limit in LIMITS if limit >= maximum), maximum))

    def at(self, difference: float) -> float:
        half = WIDTH / 2 - SIDE - 6
        return round(WIDTH / 2 + half * asinh(difference / NEAR) / asinh(self.limit / NEAR), 1)


def _lanes(places: Sequence[float]) -> list[int]:
    """Return the lane of each mark, 0 in the middle, so that no two lie upon each other."""
    last: dict[int, float] = {}
    lanes = [0] * len(places)
    for number in sorted(range(len(places)), key=lambda n: places[n]):
        order = (side * lane for lane in itertools.count() for side in (1, -1))  # 0, 0, 1, -1, 2, ...
        lane = next(k for k in order if places[number] - last.get(k, -99.0) >= LANE)
        last[lane], lanes[number] = places[number], lane
    return lanes


def _strip(strip: Strip, axis: _Axis, lanes: Sequence[int], top: float, height: float) -> list[Markup]:
    middle = top + LINE + 3 + LANE * (max(lanes, default=0) + 0.5)
    places = [axis.at(mark.difference) for mark in strip.marks]
    elements = [
        el("text", strip.name, x=SIDE, y=top + 12),
        el("text", strip.told, x=WIDTH - SIDE, y=top + 12, text_anchor="end"),
        el("line", x1=min(places), x2=max(places), y1=middle, y2=middle, class_="span"),
    ]
    for number in strip.published:
        x, y = axis.at(number), top + LINE
        elements.append(el("line", x1=x, x2=x, y1=y, y2=y + height, class_="published"))
    for mark, place, lane in zip(strip.marks, places, lanes, strict=True):
        kind, path = MARKS[mark.made]
        look = f"{kind} loose" if mark.loose else kind
        transform = f"translate({place:g} {middle - LANE * lane:g})"
        elements.append(el("path", el("title", mark.words), d=path, transform=transform, class_=look))
    return elements


def _scale(axis: _Axis, top: float, bottom: float) -> list[Markup]:
    """Return the band of half a point, a line for each tick, and their numbers."""
    left, right = axis.at(-NEAR), axis.at(NEAR)
    elements = [el("rect", x=left, y=top, width=right - left, height=bottom - top, class_="near")]
    for tick in (0, *(side * tick for tick in TICKS if tick <= axis.limit for side in (-1, 1))):
        x, look = axis.at(tick), "grid" if tick else "zero"
        elements.append(el("line", x1=x, x2=x, y1=top, y2=bottom + 3, class_=look))
        words = f"{tick:+g}".replace("-", "−") if tick else "0"
        if tick == 0 or abs(tick) != NEAR or axis.limit <= 5:
            elements.append(el("text", words, x=x, y=bottom + 14, text_anchor="middle", class_="soft"))
    caption = "points below and above the published number; closer together the farther out"
    elements.append(el("text", caption, x=WIDTH / 2, y=bottom + 29, text_anchor="middle", class_="soft"))
    return elements


HEAD, BAR_ROW, BAR = 30, 40, 16
SHADES = ("equal", "tenth", "half", "farther")
SHARES_STYLE = Markup(
    "svg{background:#fff;font-family:'DejaVu Sans',Verdana,sans-serif}text{fill:#20242a;font-size:11px}"
    ".soft{fill:#5a616b;font-size:10px}.on{fill:#fff}rect{stroke:#20242a;stroke-width:.5}"
    ".equal{fill:#00497a}.tenth{fill:#0072b2}.half{fill:#9ecae8}.farther{fill:#fff}"
)  # dark to light, so that order is seen without colour


class Bar(NamedTuple):
    """One kind: how many of its cells fall into each share, as many as there are shades."""

    name: str
    counts: tuple[int, ...]
    words: str


def shares(title: str, names: Sequence[str], bars: Sequence[Bar], *, alone: bool = False) -> Markup:
    """Return the drawing; a bar's title and the description say the counts.

    Args:
        names: of the shares, for the legend.
        alone: for a file of its own, with the rules by which it is coloured, on white.
    """
    top = HEAD + TITLE * alone  # in a page the title stands above the drawing
    height = top + BAR_ROW * len(bars) + 4
    return _drawing(
        title,
        [bar.words for bar in bars],
        _shares_legend(names, top - 20),
        [_bar(bar, top + BAR_ROW * number) for number, bar in enumerate(bars)],
        height=height,
        look="shares",
        style=SHARES_STYLE if alone else None,
    )


def _shares_legend(names: Sequence[str], top: int) -> list[Markup]:
    elements, x = [], SIDE
    for name, shade in zip(names, SHADES, strict=True):
        elements.append(el("rect", x=x, y=top, width=10, height=10, class_=shade))
        elements.append(el("text", name, x=x + 14, y=top + 9, class_="soft"))
        x += 24 + 6 * len(name)
    return elements


def _bar(bar: Bar, top: int) -> list[Markup]:
    total = sum(bar.counts)
    parts = [
        el("text", bar.name, x=SIDE, y=top + 11),
        el("text", f"{total} cells", x=WIDTH - SIDE, y=top + 11, text_anchor="end"),
    ]
    x = float(SIDE)
    for count, shade in zip(bar.counts, SHADES, strict=True):
        width = (WIDTH - 2 * SIDE) * count / total
        words = el("title", f"{count} of {total}")
        place, breadth = f"{x:.1f}", f"{width:.1f}"
        parts.append(el("rect", words, x=place, width=breadth, y=top + 16, height=BAR, class_=shade))
        if width > 22:
            look = "on" if shade in ("equal", "tenth") else f"under {shade}-text"
            middle = f"{x + width / 2:.1f}"
            parts.append(el("text", str(count), x=middle, y=top + 28, text_anchor="middle", class_=look))
        x += width
    return parts


SHARES = ("to the last digit", "within 0.1", "within 0.5", "farther")
CSV = (
    *("quantity", "cells", "published", "others", "difference", "unit", "made", "match", "who", "name"),
    *("measure", "dataset", "differs", "note", "place", "at", "address"),
)


def nearness_picture(lines: Sequence[Nearness]) -> Picture:
    """Return the shares of cells by how near the nearest report comes, a bar for each kind and for who
    reports."""
    bars = []
    for line in lines:
        steps = (0, line.equal, *line.within, line.cells)
        counts = tuple(high - low for low, high in itertools.pairwise(steps))
        text = ", ".join(f"{count} {name}" for count, name in zip(counts, SHARES, strict=True))
        name = line.kind if line.by == "all" else f"{line.kind}: {line.by}"
        bars.append(Bar(name, counts, f"{name}, {line.cells} cells: {text}."))
    title = "Cells in which the nearest value of others gives the published number"
    head = ["kind", "part", *COUNTS, "median difference", "median size of the difference"]
    rows = [[n.kind, n.by, *n.counts, f"{n.signed:.3f}", f"{n.size:.3f}"] for n in lines]
    return Picture("nearness", title, lambda alone: shares(title, SHARES, bars, alone=alone), head, rows)


def forest_picture(system: str, known: Sequence[Quantity]) -> Picture:
    """Return the published and reported numbers of one system, and beneath a table of all of them with
    links."""
    label = label_of(system)
    names = _names(known)
    strips = [_quantity_strip(quantity, name) for quantity, name in zip(known, names, strict=True)]
    title = f"{label}: published, and stated by others"
    rows = [row for quantity, name in zip(known, names, strict=True) for row in _csv(quantity, name)]
    count = sum(len(quantity.entries) for quantity in known)
    fold = Fold(f"All {count} values" if count > 1 else "The value", [_table(known, names)])
    return Picture(
        f"forest-{system}", label, lambda alone: forest(title, strips, alone=alone), CSV, rows, below=[fold]
    )


def _names(quantities: Sequence[Quantity]) -> list[str]:
    """Return each quantity's name, with its paper or setting where another has its set and measure."""
    names = []
    for quantity in quantities:
        peers = [q for q in quantities if q is not quantity and q.task == quantity.task]
        disjoint = all(quantity.papers.isdisjoint(other.papers) for other in peers)
        tail = " ".join(sorted(quantity.papers)) if disjoint else quantity.setting
        names.append(f"{quantity.name}, {tail}" if peers and tail else quantity.name)
    return names


def _quantity_strip(quantity: Quantity, name: str) -> Strip:
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
    """Return a number in percent to two decimals at most, with the zeros that it was stated with."""
    return str(round(value, min(2, decimals_of(value))))


def format_difference(difference: float) -> str:
    """Return a difference in points to two decimals, with its sign."""
    words = f"{difference:+.2f}"
    return "0.00" if words in ("+0.00", "-0.00") else words.replace("-", "−")


def maker(entry: Entry) -> str:
    """Return the reporter and the way it was made."""
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
    rows: list[list[str | Link]] = []
    for quantity, name in zip(quantities, names, strict=True):
        values = ", ".join(map(format_percent, quantity.published))
        for entry in sorted(quantity.entries, key=lambda e: e.value):
            place = Link(entry.made.source.name, entry.made.source.address)
            making = HOW[entry.start] + ("" if entry.counted else "; loose match")
            rows.append([name, values, format_percent(entry.value), place, making, words(entry)])
    return Grid(["set and measure", "published", "stated", "by", "made how", "what is said of it"], rows)
