"""A page and its parts, as HTML that needs nothing but itself and as Markdown, with the files beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from repro import __version__
from repro.writers.figures.canvas import write_csv
from repro.writers.html.elements import Content, Markup, el, identifier, plain_table, section, standalone
from repro.writers.markdown import escaped, link, table

SHEET = ("repro.plugins.reports", "reproduction.css")
FOOT = (
    f"Written by `repro show others` of repro {__version__} from papers/*/others.yaml. Numbers, names and "
    "places are facts; what is said at a place is restated."
)


class Link(NamedTuple):
    """Words that lead to an address; without one they are only words."""

    words: str
    address: str


Inline = str | Link


class Words(NamedTuple):
    """A paragraph; ``look`` is lead, fine, finding (the title of one), or nothing."""

    inline: Inline
    look: str = ""


class Grid(NamedTuple):
    """A table; from the column ``numbers`` on its cells are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[Inline]]
    numbers: int = 99


class Fold(NamedTuple):
    """The parts that are shown when it is opened."""

    summary: str
    blocks: Sequence[Block]


class Picture(NamedTuple):
    """A drawing with the numbers behind it, written beside the page as NAME.svg and NAME.csv.

    Attributes:
        drawing: makes it as it stands in the page or, of True, in a file of its own.
        head, rows: of the CSV.
        below: what opens beneath it.
    """

    name: str
    title: str
    drawing: Callable[[bool], Markup]
    head: Sequence[str]
    rows: Sequence[Sequence]
    below: Sequence[Block] = ()


class Gallery(NamedTuple):
    """Pictures beside each other."""

    pictures: Sequence[Picture]


Block = Words | Grid | Fold | Gallery


def _html(blocks: Iterable[Block]) -> list[Content]:
    return [_block_html(block) for block in blocks]


def _block_html(block: Block) -> Content:
    match block:
        case Words(inline, look):
            return el("p", _inline_html(inline), class_=look or None)
        case Grid(head, rows, numbers):
            cells = [list(map(_inline_html, row)) for row in rows]
            table = plain_table(head, cells, class_="plain numbers" if numbers <= 1 else "plain")
            return el("div", table, class_="scroll", tabindex=0)
        case Fold(summary, blocks):
            return el("details", el("summary", summary), _html(blocks))
        case Gallery(pictures):
            look = "gallery" if len(pictures) > 1 else "single"
            return el("div", map(_picture_html, pictures), class_=look)


def _picture_html(picture: Picture) -> Markup:
    numbers = el("a", "the numbers as CSV", href=f"{picture.name}.csv")
    caption = el("figcaption", numbers, ", ", el("a", "the picture", href=f"{picture.name}.svg"))
    parts = el("h4", picture.title), picture.drawing(False), caption, _html(picture.below)
    return el("figure", *parts, id=identifier(f"{picture.name}.svg"))


def _inline_html(inline: Inline) -> Content:
    if isinstance(inline, str):
        return inline
    return el("a", inline.words, href=inline.address) if inline.address else inline.words


def _markdown(blocks: Iterable[Block]) -> list[str]:
    """Return the lines of blocks, an empty one behind each."""
    return [line for block in blocks for line in _block_markdown(block)]


def _block_markdown(block: Block) -> Iterator[str]:
    match block:
        case Words(inline, look):
            strong = "**" if look == "finding" else ""
            yield f"{strong}{_inline_markdown(inline)}{strong}\n"
        case Grid(head, rows):
            yield from table(head, [list(map(_inline_markdown, row)) for row in rows])
        case Fold(summary, blocks):
            yield f'<details markdown="1"><summary>{escaped(summary)}</summary>\n'
            yield from (*_markdown(blocks), "</details>\n")
        case Gallery(pictures):
            for picture in pictures:
                title, name = escaped(picture.title), picture.name
                yield f"### {title} {{ #{name}-picture }}\n"
                yield f"![{title}]({name}.svg)\n"
                yield f"[The numbers as CSV]({name}.csv).\n"
                yield from _markdown(picture.below)


def _inline_markdown(inline: Inline) -> str:
    return escaped(inline) if isinstance(inline, str) else link(inline.words, inline.address)


class Section(NamedTuple):
    """A part under its heading, which ``#place`` leads to."""

    place: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A page: a line above its title, the title, what comes first, and its parts."""

    above: str
    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]

    def html(self) -> str:
        """Return the page as one HTML file; equal documents give equal text."""
        return standalone(
            self.title,
            [section(part.title, _html(part.blocks), place=part.place) for part in self.sections],
            above=self.above,
            lead=_html(self.lead),
            links={part.place: part.place.replace("-", " ").capitalize() for part in self.sections},
            sheet=SHEET,
            foot=FOOT.replace("`", ""),
        )

    def markdown(self) -> str:
        """Return the page for a documentation site; equal documents give equal text."""
        lines = [f"# {escaped(self.title)}\n", *_markdown(self.lead)]
        for part in self.sections:
            lines += [f"## {escaped(part.title)} {{ #{part.place} }}\n", *_markdown(part.blocks)]
        return "\n".join([*lines, f"*{escaped(FOOT)}*\n"])

    def write(self, folder: Path) -> list[Path]:
        """Write others.html, index.md, NAME.svg and NAME.csv of each picture; equal data give equal bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        blocks = chain.from_iterable(part.blocks for part in self.sections)
        pictures = [picture for block in blocks if isinstance(block, Gallery) for picture in block.pictures]
        texts = {"others.html": self.html(), "index.md": self.markdown()}
        texts |= {f"{picture.name}.svg": f"{picture.drawing(True)}\n" for picture in pictures}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for picture in pictures:
            write_csv(folder / f"{picture.name}.svg", picture.head, picture.rows)
        return sorted(folder / name for name in texts) + sorted(folder / f"{p.name}.csv" for p in pictures)
