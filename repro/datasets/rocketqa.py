"""Joins RocketQA's texts and titles of MS MARCO's passages, two files by number, to documents."""

from collections.abc import Iterator
from pathlib import Path

from repro.datasets.lines import lines, malformed
from repro.datasets.records import Document


def documents(texts: Path, titles: Path) -> Iterator[Document]:
    """Every text of para.txt with its title of para.title.txt, an empty one where it has none.

    Both have a number, a tab and the text or title on a line. Titles, in any order, are held in memory (about
    1 GB for 8.8 million). Raises DataError, with file and line, for any other line and for a number that is
    not above the one before it.
    """
    titles_by_number = {number: title for _, number, title in _rows(titles)}
    previous_number = -1
    for line, number, text in _rows(texts):
        if number <= previous_number:
            raise malformed(
                texts, line, f"passage {number} comes behind {previous_number}; order the lines by `sort -n`"
            )
        previous_number = number
        yield Document(str(number), titles_by_number.get(number, ""), text)


def _rows(path: Path) -> Iterator[tuple[int, int, str]]:
    for line, content in lines(path):
        number, tab, text = content.partition("\t")
        if not (tab and number.isascii() and number.isdecimal()) or "\t" in text:
            raise malformed(path, line, "is not a number and a text parted by a tab")
        yield line, int(number), text.strip()
