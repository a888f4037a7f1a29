"""Writes rows into an Arrow dataset as ``datasets.load_from_disk`` reads it, and reads the ids of one."""

import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.retrieval.datasets.row_blocks import RowBlocks

BATCH = 1000  # rows of a record batch, as `datasets` writes them
BLOCK = 20_000  # rows of a block


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> int:
    """Write ``rows`` to ``folder`` (what was there is removed) and return how many there were.

    ``columns`` maps names to feature types: "string", or ["string"] for lists. An exception of ``rows``
    passes through unchanged. Then, and when there are no rows, no dataset is left in ``folder``. A batch of
    rows is in memory at a time, and on disk they are there once, as ``RowBlocks`` says.
    """
    rows_folder = folder.with_name(f"{folder.name}.rows")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(rows_folder, ignore_errors=True)
    blocks = RowBlocks(rows_folder, columns)
    iterator, starts = iter(rows), []
    while head := list(itertools.islice(iterator, BATCH)):
        starts.append(BLOCK * len(starts))
        block = itertools.chain(head, itertools.islice(iterator, BLOCK - BATCH))
        blocks.write(starts[-1], in_batches(block, columns), {})
    count = blocks.complete(starts, {}, held=BATCH)
    if count:
        blocks.join(folder)
    shutil.rmtree(rows_folder)
    return count


def in_batches(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> Iterator[dict[str, list]]:
    """The columns of ``BATCH`` rows at a time."""
    iterator, names = iter(rows), list(columns)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield {name: [row[name] for row in batch] for name in names}


def read_rows(artefact: Path):
    """Open what ``write_rows`` or ``datasets`` wrote to ``arrow`` in an artefact's folder, memory-mapped."""
    from datasets import load_from_disk

    return load_from_disk(str(artefact / "arrow"))


class IdColumn:
    """The column ``id`` of a dataset, left on disk: no string stays in memory for any of its rows."""

    def __init__(self, dataset):
        self._column = dataset.data.column("id")

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: int) -> str:
        return self._column[row].as_py()

    def __iter__(self) -> Iterator[str]:
        for chunk in self._column.chunks:
            for first in range(0, len(chunk), BATCH):
                yield from chunk[first : first + BATCH].to_pylist()
