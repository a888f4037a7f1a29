"""A forest plot: published numbers as lines, reported values as marks, a strip for each quantity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import asinh

from repro.writers.html.elements import Markup, el

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


@dataclass(frozen=True)
class Mark:
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
    """The drawing, with its title and a description that tells every strip.

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
    columns = {"x": WIDTH - SIDE, "y": head - 12, "text_anchor": "end", "class_": "soft"}
    attributes = {"xmlns": "http://www.w3.org/2000/svg"} if alone else {}
    return el(
        "svg",
        el("title", title),
        el("desc", " ".join(strip.words for strip in strips)),
        [el("style", STYLE), el("text", title, x=SIDE, y=16)] if alone else None,
        el("text", "published: least – greatest value (number)", **columns),
        _scale(axis, head, top),
        parts,
        legend,
        **attributes,
        viewBox=f"0 0 {WIDTH} {round(bottom)}",
        role="img",
        aria_label=title,
        class_="forest",
    )


def _legend(strips: Sequence[Strip], top: float) -> tuple[list[Markup], float]:
    """A legend of the marks of these strips, in as many rows as it takes, and where it ends."""
    marks = [mark for strip in strips for mark in strip.marks]
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
    """The lane of each mark, 0 in the middle, so that no two lie upon each other."""
    last: dict[int, float] = {}
    lanes = [0] * len(places)
    for number in sorted(range(len(places)), key=lambda n: places[n]):
        lane = next(k for k in _lane_order() if places[number] - last.get(k, -99.0) >= LANE)
        last[lane], lanes[number] = places[number], lane
    return lanes


def _lane_order() -> Iterator[int]:
    yield 0
    lane = 0
    while True:
        lane += 1
        yield from (lane, -lane)


def _strip(strip: Strip, axis: _Axis, lanes: Sequence[int], top: float, height: float) -> list[Markup]:
    middle = top + LINE + 3 + LANE * (max(lanes, default=0) + 0.5)
    places = [axis.at(mark.difference) for mark in strip.marks]
    elements = [
        el("text", strip.name, x=SIDE, y=top + 12),
        el("text", strip.told, x=WIDTH - SIDE, y=top + 12, text_anchor="end"),
        el("line", x1=min(places), x2=max(places), y1=middle, y2=middle, class_="span"),
    ]
    for number in strip.published:
        x, y_range = axis.at(number), {"y1": top + LINE, "y2": top + LINE + height}
        elements.append(el("line", x1=x, x2=x, **y_range, class_="published"))
    for mark, place, lane in zip(strip.marks, places, lanes, strict=True):
        kind, path = MARKS[mark.made]
        look = f"{kind} loose" if mark.loose else kind
        transform = f"translate({place:g} {middle - LANE * lane:g})"
        elements.append(el("path", el("title", mark.words), d=path, transform=transform, class_=look))
    return elements


def _scale(axis: _Axis, top: float, bottom: float) -> list[Markup]:
    """The band of half a point, a line for each tick, and their numbers."""
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
