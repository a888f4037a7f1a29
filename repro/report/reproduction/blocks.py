"""The parts of a page, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from repro.report.html.elements import Markup


@dataclass(frozen=True)
class Link:
    """Words that lead to an address; without one they are only words."""

    words: str
    address: str


Inline = str | Link | Sequence["str | Link"]


@dataclass(frozen=True)
class Words:
    """A paragraph; ``look`` is lead, fine, finding (the title of one), or nothing."""

    inline: Inline
    look: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; from the column ``numbers`` on its cells are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[Inline]]
    numbers: int = 99


@dataclass(frozen=True)
class Picture:
    """A drawing with the numbers behind it, written beside the page as NAME.svg and NAME.csv.

    Attributes:
        inline: as it stands in the page.
        alone: as it stands in a file.
        head, rows: of the CSV.
        words: beneath it.
        below: what opens beneath that.
    """

    name: str
    title: str
    inline: Markup
    alone: Markup
    head: Sequence[str]
    rows: Sequence[Sequence]
    words: str = ""
    below: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True)
class Gallery:
    """Pictures beside each other."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Fold:
    """The parts that are shown when it is opened."""

    summary: str
    blocks: Sequence[Block]


Block = Words | Grid | Gallery | Fold


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

    @property
    def pictures(self) -> list[Picture]:
        """Every picture, in order."""
        return [
            picture
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Gallery)
            for picture in block.pictures
        ]
