"""Where the characters and rules of a PDF stand: what was set over something else, or out of its table."""

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

TOLERANCE = 1.0


def overprinted(path: Path) -> list[str]:
    """Pairs of characters of which one covers a third of the other; accents stand above their letters."""
    found = []
    for number, page in enumerate(_pages(path), 1):
        chars = sorted((c for c in page.chars if c["text"] not in " ´"), key=lambda char: char["x0"])
        for place, one in enumerate(chars):
            for other in chars[place + 1 :]:
                if other["x0"] > one["x1"]:
                    break
                if other["top"] >= one["bottom"] or other["bottom"] <= one["top"]:
                    continue  # as most pairs, which are not looked at further
                if _shared(one, other, "x0", "x1") > 1 / 3 and _shared(one, other, "top", "bottom") > 1 / 2:
                    where = f"page {number} at {one['x0']:.0f}, {one['top']:.0f}"
                    found.append(f"{one['text']!r} and {other['text']!r}, {where}")
    return found


def out_of_place(path: Path) -> list[str]:
    """Characters that stand beside the rules of the table whose lines they are in."""
    return [
        f"{c['text']!r} at {c['x0']:.0f}, {c['top']:.0f}"
        for page in _pages(path)
        for left, top, right, bottom in _tables(page)
        for c in page.chars
        if top < c["top"] and c["bottom"] < bottom + TOLERANCE
        if c["x0"] < left - TOLERANCE or c["x1"] > right + TOLERANCE
    ]


def tables_on_pages(path: Path) -> list[int]:
    return [len(list(_tables(page))) for page in _pages(path)]


@functools.lru_cache(maxsize=1)
def _pages(path: Path):
    pdfplumber = pytest.importorskip("pdfplumber", reason="no pdfplumber here: pip install pdfplumber")
    with pdfplumber.open(path) as document:
        return [page for page in document.pages if page.chars]


def _tables(page) -> Iterator[tuple[float, float, float, float]]:
    """Left, top, right and bottom of three rules of equal width: above, below the head, below."""
    rules = sorted((r["top"], r["x0"], r["x1"]) for r in [*page.rects, *page.lines] if r["height"] < 2)
    begun: list[tuple[float, float, float]] = []
    for top, left, right in rules:
        if not begun or (abs(left - begun[0][1]) < TOLERANCE and abs(right - begun[0][2]) < TOLERANCE):
            begun.append((top, left, right))
        if len(begun) == 3:
            yield left, begun[0][0], right, top
            begun = []


def _shared(one, other, begin: str, end: str) -> float:
    """What two boxes share in one direction, of the smaller of them."""
    shared = min(one[end], other[end]) - max(one[begin], other[begin])
    return shared / max(1e-6, min(one[end] - one[begin], other[end] - other[begin]))
