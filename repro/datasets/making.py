"""Makes files of the data folder from what their makers publish in another form."""

from collections.abc import Sequence
from pathlib import Path

from repro.datasets import reading, rocketqa, word_lists
from repro.datasets.catalog import dataset
from repro.datasets.source import Source
from repro.datasets.word_lists import known_lists
from repro.datasets.writing import write, write_documents
from repro.errors import UsageError, check_known
from repro.progress import Progress

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
    documents = reading.counted(rocketqa.documents(*files), source)
    return write_documents(documents, entry, data_root, progress)
