"""A picture of an article: its files, its place in the text, and what all pictures are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from repro.judging.compared import ComparedCell
from repro.judging.doubts import doubt_kinds
from repro.report.article.prose import NOT_MEASURED
from repro.report.figures.canvas import write_csv
from repro.report.figures.line_panels import Place
from repro.report.figures.slide import THEMES
from repro.report.html.elements import el

Put = Callable[..., str]


def picture(
    paper: str,
    folder: Path,
    draw: Callable[..., None],
    *,
    name: str,
    title: str,
    small: str,
    head: Sequence[str],
    rows: Sequence[Sequence],
) -> str:
    """Draw a picture for either ground, with its numbers, and return it as it stands in the text.

    Args:
        draw: a function of a path, a theme, a title and small print.
        head, rows: of the CSV; without a row there is nothing to draw, and the text says so.
    """
    if not rows:
        return f"Figure ({title}): {NOT_MEASURED}."
    stem = f"{paper}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for ending, theme in THEMES.items():
        draw(folder / f"{stem}{ending}.svg", theme, title=title, small=small)
    write_csv(folder / f"{stem}.svg", head, rows)
    dark = el("source", media="(prefers-color-scheme: dark)", srcset=f"{stem}-dark.svg")
    words = f"{title}. {small} The numbers are in {stem}.csv."
    image = el("img", src=f"{stem}.svg", alt=words, width=960, height=540)
    drawing = el("div", el("picture", dark, image), class_="scroll", tabindex=0)
    links = {"the numbers as CSV": f"{stem}.csv", "for a slide": f"{stem}.svg", "dark": f"{stem}-dark.svg"}
    anchors = [(", " if k else None, el("a", n, href=links[n])) for k, n in enumerate(links)]
    return el("figure", drawing, el("figcaption", anchors), class_="slide")


def place_of(x: float, compared: ComparedCell, *, hollow: bool = False) -> Place:
    """A measured cell as a point at ``x``: its mean, with the lowest and the highest of its seeds."""
    values = [record.measured for record in compared.records]
    return Place(x, compared.measured, min(values), max(values), hollow, doubt_kinds([compared]))


def round_numbers(values: Iterable[float]) -> list[float]:
    """Round numbers between the least and the greatest, evenly apart on a logarithmic axis."""
    numbers = list(values)
    candidates = [digit * 10.0**power for power in range(-6, 16) for digit in (1, 2, 5)]
    return [number for number in candidates if numbers and min(numbers) <= number <= max(numbers)]


def seed_count(measured: Iterable[ComparedCell]) -> str:
    """How many seeds stand behind points."""
    counts = sorted({len(c.records) for c in measured}) or [1]
    text = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"{text} seed{'' if counts[-1] == 1 else 's'}"


def seeds_of(measured: Sequence[ComparedCell]) -> str:
    """How many seeds stand behind points, and what is drawn of them."""
    many = any(len(c.records) > 1 for c in measured)
    return f"{seed_count(measured)}{'; upright lines: lowest to highest seed' if many else ''}."


def data_of(measured: Iterable[ComparedCell]) -> str:
    """The measures of points, their units, and the queries that they were measured on."""
    sentences = {}
    for c in measured:
        queries = ", ".join(dict.fromkeys(name for r in c.records for name in r.collections))
        sentences[f"{c.cell.column.label}, {c.cell.unit}, on {queries}."] = None
    return " ".join(sentences)
