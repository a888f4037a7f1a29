"""Bars of equal length, each cut into the shares of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repro.writers.html.elements import Markup, el

WIDTH, SIDE, HEAD, ROW, BAR, TITLE = 420, 10, 30, 40, 16, 18
SHADES = ("equal", "tenth", "half", "farther")
STYLE = Markup(
    "svg{background:#fff;font-family:'DejaVu Sans',Verdana,sans-serif}text{fill:#20242a;font-size:11px}"
    ".soft{fill:#5a616b;font-size:10px}.on{fill:#fff}rect{stroke:#20242a;stroke-width:.5}"
    ".equal{fill:#00497a}.tenth{fill:#0072b2}.half{fill:#9ecae8}.farther{fill:#fff}"
)  # dark to light, so that order is seen without colour


@dataclass(frozen=True)
class Bar:
    """One kind: how many of its cells fall into each share, as many as there are shades."""

    name: str
    counts: tuple[int, ...]
    words: str


def shares(title: str, names: Sequence[str], bars: Sequence[Bar], *, alone: bool = False) -> Markup:
    """The drawing; a bar's title and the description say the counts.

    Args:
        names: of the shares, for the legend.
        alone: for a file of its own, with the rules by which it is coloured, on white.
    """
    top = HEAD + TITLE * alone  # in a page the title stands above the drawing
    height = top + ROW * len(bars) + 4
    head = {"xmlns": "http://www.w3.org/2000/svg"} if alone else {}
    return el(
        "svg",
        el("title", title),
        el("desc", " ".join(bar.words for bar in bars)),
        [el("style", STYLE), el("text", title, x=SIDE, y=16)] if alone else None,
        _legend(names, top - 20),
        [_bar(bar, top + ROW * number) for number, bar in enumerate(bars)],
        **head,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=title,
        class_="shares",
    )


def _legend(names: Sequence[str], top: int) -> list[Markup]:
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
        place = {"x": f"{x:.1f}", "width": f"{width:.1f}", "y": top + 16, "height": BAR}
        parts.append(el("rect", el("title", f"{count} of {total}"), **place, class_=shade))
        if width > 22:
            look = "on" if shade in ("equal", "tenth") else f"under {shade}-text"
            parts.append(
                el(
                    "text",
                    str(count),
                    x=f"{x + width / 2:.1f}",
                    y=top + 28,
                    text_anchor="middle",
                    class_=look,
                )
            )
        x += width
    return parts
