"""A page and its parts, as HTML that needs nothing but itself and as Markdown, with the files beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro import __version__
from repro.writers.figures.canvas import write_csv
from repro.writers.html.elements import Content, Markup, el, identifier, plain_table, section
from repro.writers.html.standalone import standalone
from repro.writers.markdown import escaped, link, table

SHEET = ("repro.plugins.reports", "reproduction.css")
FOOT = (
    f"Written by `repro show others` of repro {__version__} from papers/*/others.yaml. Numbers, names and "
    "places are facts; what is said at a place is restated."
)


@dataclass(frozen=True)
class Link:
    """Words that lead to an address; without one they are only words."""

    words: str
    address: str


Inline = str | Link


def _html(inline: Inline) -> Content:
    if isinstance(inline, str):
        return inline
    return el("a", inline.words, href=inline.address) if inline.address else inline.words


def _markdown(inline: Inline) -> str:
    return escaped(inline) if isinstance(inline, str) else link(inline.words, inline.address)


class Block(ABC):
    """A part of a page in both forms."""

    @abstractmethod
    def html(self) -> Content:
        """Return it as HTML."""

    @abstractmethod
    def markdown(self) -> list[str]:
        """Return its lines as Markdown, an empty one behind it."""


def _lines(blocks: Iterable[Block]) -> list[str]:
    return [line for block in blocks for line in block.markdown()]


@dataclass(frozen=True)
class Words(Block):
    """A paragraph; ``look`` is lead, fine, finding (the title of one), or nothing."""

    inline: Inline
    look: str = ""

    def html(self) -> Content:
        return el("p", _html(self.inline), class_=self.look or None)

    def markdown(self) -> list[str]:
        strong = "**" if self.look == "finding" else ""
        return [f"{strong}{_markdown(self.inline)}{strong}\n"]


@dataclass(frozen=True)
class Grid(Block):
    """A table; from the column ``numbers`` on its cells are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[Inline]]
    numbers: int = 99

    def html(self) -> Content:
        look = "plain numbers" if self.numbers <= 1 else "plain"
        rows = [list(map(_html, row)) for row in self.rows]
        return el("div", plain_table(self.head, rows, class_=look), class_="scroll", tabindex=0)

    def markdown(self) -> list[str]:
        return table(self.head, [list(map(_markdown, row)) for row in self.rows])


@dataclass(frozen=True)
class Fold(Block):
    """The parts that are shown when it is opened."""

    summary: str
    blocks: Sequence[Block]

    def html(self) -> Content:
        return el("details", el("summary", self.summary), [block.html() for block in self.blocks])

    def markdown(self) -> list[str]:
        opening = f'<details markdown="1"><summary>{escaped(self.summary)}</summary>\n'
        return [opening, *_lines(self.blocks), "</details>\n"]


@dataclass(frozen=True)
class Picture(Block):
    """A drawing with the numbers behind it, written beside the page as NAME.svg and NAME.csv.

    Attributes:
        inline: as it stands in the page.
        alone: as it stands in a file.
        head, rows: of the CSV.
        below: what opens beneath it.
    """

    name: str
    title: str
    inline: Markup
    alone: Markup
    head: Sequence[str]
    rows: Sequence[Sequence]
    below: Sequence[Block] = ()

    def html(self) -> Content:
        numbers = el("a", "the numbers as CSV", href=f"{self.name}.csv")
        caption = el("figcaption", numbers, ", ", el("a", "the picture", href=f"{self.name}.svg"))
        parts = el("h4", self.title), self.inline, caption, [block.html() for block in self.below]
        return el("figure", *parts, id=identifier(f"{self.name}.svg"))

    def markdown(self) -> list[str]:
        title = escaped(self.title)
        lines = [f"### {title} {{ #{self.name}-picture }}\n", f"![{title}]({self.name}.svg)\n"]
        return [*lines, f"[The numbers as CSV]({self.name}.csv).\n", *_lines(self.below)]


@dataclass(frozen=True)
class Gallery(Block):
    """Pictures beside each other."""

    pictures: Sequence[Picture]

    def html(self) -> Content:
        look = "gallery" if len(self.pictures) > 1 else "single"
        return el("div", [picture.html() for picture in self.pictures], class_=look)

    def markdown(self) -> list[str]:
        return _lines(self.pictures)


@dataclass(frozen=True)
class Section:
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
        parts = [(part, [block.html() for block in part.blocks]) for part in self.sections]
        sections = [section(part.title, content, place=part.place) for part, content in parts]
        links = {part.place: part.place.replace("-", " ").capitalize() for part in self.sections}
        lead, foot = [block.html() for block in self.lead], FOOT.replace("`", "")
        arguments = {"above": self.above, "lead": lead, "links": links, "sheet": SHEET, "foot": foot}
        return standalone(self.title, sections, **arguments)

    def markdown(self) -> str:
        """Return the page for a documentation site; equal documents give equal text."""
        lines = [f"# {escaped(self.title)}\n", *_lines(self.lead)]
        for part in self.sections:
            lines += [f"## {escaped(part.title)} {{ #{part.place} }}\n", *_lines(part.blocks)]
        return "\n".join([*lines, f"*{escaped(FOOT)}*\n"])

    def write(self, folder: Path) -> list[Path]:
        """Write others.html, index.md, NAME.svg and NAME.csv of each picture; equal data give equal bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        blocks = (block for part in self.sections for block in part.blocks)
        pictures = [picture for block in blocks if isinstance(block, Gallery) for picture in block.pictures]
        texts = {"others.html": self.html(), "index.md": self.markdown()}
        texts |= {f"{picture.name}.svg": f"{picture.alone}\n" for picture in pictures}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for picture in pictures:
            write_csv(folder / f"{picture.name}.svg", picture.head, picture.rows)
        return sorted(folder / name for name in texts) + sorted(folder / f"{p.name}.csv" for p in pictures)
