"""Writes rows into an Arrow dataset as ``datasets.load_from_disk`` reads it, and reads the ids of one."""

import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

BATCH = 1000


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> int:
    """Write ``rows`` to ``folder`` (what was there is removed) and return how many there were.

    ``columns`` maps names to feature types: "string", or ["string"] for lists. An exception of ``rows``
    passes through unchanged. Then, and when there are no rows, no dataset is left in ``folder``.
    """
    import datasets
    from datasets.arrow_writer import ArrowWriter

    features = datasets.Features()
    for name, type in columns.items():
        is_list = isinstance(type, list)
        features[name] = datasets.List(datasets.Value(type[0])) if is_list else datasets.Value(type)
    raw = folder.with_name(f"{folder.name}.rows")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    count = 0
    with ArrowWriter(path=str(raw / "rows.arrow"), features=features) as writer:
        iterator = iter(rows)
        while batch := list(itertools.islice(iterator, BATCH)):
            writer.write_batch({name: [row[name] for row in batch] for name in columns})
            count += len(batch)
        writer.finalize()
    datasets.disable_progress_bars()
    if count:
        datasets.Dataset.from_file(str(raw / "rows.arrow")).save_to_disk(str(folder))
    shutil.rmtree(raw)
    return count


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
