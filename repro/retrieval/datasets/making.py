"""Makes files of the data folder from what their makers publish in another form."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from repro.errors import UsageError, check_known
from repro.progress import Progress
from repro.retrieval.datasets import reading, word_lists
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.datasets.lines import lines, malformed
from repro.retrieval.datasets.records import Document
from repro.retrieval.datasets.source import Source
from repro.retrieval.datasets.word_lists import known_lists
from repro.retrieval.datasets.writing import write, write_documents

TITLED = "msmarco-passage/rocketqa"


def make(name: str, files: Sequence[Path], data_root: Path, progress: Progress) -> Path:
    """Make ``name``, the titled passages of RocketQA or a list of words, of ``files``; its place is returned.

    Raises:
        UsageError: nothing of that name is made, or not of so many files.
        DataError: a file is not what its makers publish, or has another number of rows than the catalogue
            states; a file that was there before then stays.
    """
    check_known("collection or list to make", name, valid=(TITLED, *known_lists()))
    if name != TITLED:
        return write(data_root / name, (f"{word}\n" for word in word_lists.make(name, files)))
    if len(files) != 2:
        raise UsageError(f"{TITLED} is made of two files, para.txt and para.title.txt, not of {len(files)}")
    entry = dataset(TITLED)
    source = Source(entry.id, "documents", "folder", "jsonl", (files[0],), version=entry.version)
    return write_documents(reading.counted(documents(*files), source), entry, data_root, progress)


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
