"""Write rows as an Arrow dataset for ``load_from_disk``, and look up ids, rows and texts."""

import itertools
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from repro.errors import DataError
from repro.retrieval.datasets.row_blocks import RowBlocks

BATCH = 1000  # rows of a record batch, as in `datasets`
BLOCK = 20_000  # rows of a block for resuming a stage


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> int:
    """Write ``rows`` to ``folder``, replacing it, and return their number. ``columns`` maps names to "string"
    or ["string"]. Without rows, or after an exception, there is no dataset."""
    rows_folder = folder.with_name(f"{folder.name}.rows")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(rows_folder, ignore_errors=True)
    blocks = RowBlocks(rows_folder, columns)
    blocks.write(0, in_batches(rows, columns), {})
    count = blocks.complete([0], {})
    if count:
        blocks.join(folder)
    shutil.rmtree(rows_folder)
    return count


def in_batches(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> Iterator[dict[str, list]]:
    """Yield the columns of ``BATCH`` rows at a time, e.g. {"id": ["1", "2"]}."""
    iterator, names = iter(rows), list(columns)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield {name: [row[name] for row in batch] for name in names}


def read_rows(artefact: Path):
    """Open the memory-mapped dataset ``arrow`` in an artefact's folder."""
    from datasets import load_from_disk

    return load_from_disk(str(artefact / "arrow"))


# columns of a training set with scores, for ``write_rows``
SCORED_EXAMPLES = {
    "query": "string",
    "positives": ["string"],
    "negatives": ["string"],
    "positive_scores": ["float32"],
    "negative_scores": ["float32"],
}


class Lists:
    """Many lists concatenated in one array, e.g. 100 million entries without a Python object each.

    Args:
        values: (N,).
        offsets: (L + 1,). List i is ``values[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, values: np.ndarray, offsets: np.ndarray):
        self.values, self.offsets = values, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> np.ndarray:
        """Return the number of entries of each list, (L,)."""
        return self.offsets[1:] - self.offsets[:-1]


class ColumnTexts:
    """The strings of an Arrow column, each read from its memory-mapped file on access.

    Args:
        column: a ChunkedArray of strings.
    """

    def __init__(self, column):
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, index: int) -> str:
        return self._column[index].as_py()


class IdColumn(ColumnTexts):
    """The column ``id`` of a dataset, read from disk without keeping strings in memory."""

    def __init__(self, dataset):
        super().__init__(dataset.data.column("id"))

    def __iter__(self) -> Iterator[str]:
        for chunk in self._column.chunks:
            for first in range(0, len(chunk), BATCH):
                yield from chunk[first : first + BATCH].to_pylist()


class ColumnLists:
    """The integer lists of an Arrow column, each read on access as in ``ColumnTexts``.

    Args:
        column: a ChunkedArray of lists, none of them missing.
    """

    def __init__(self, column):
        self._column = column

    def __getitem__(self, index: int) -> np.ndarray:
        """Return list ``index``, (n,) int64, which the caller may change."""
        return self._column[index].values.to_numpy().astype(np.int64)


def list_offsets(column) -> np.ndarray:
    """Return the start of each of L lists of an Arrow column in the flattened column, (L + 1,)."""
    import pyarrow.compute as pc

    return np.concatenate(([0], np.cumsum(pc.list_value_length(column).to_numpy())))


def document_rows(documents, corpus: Path, *, source: Path) -> np.ndarray:
    """Return the corpus row of each of N document ids, (N,) integers, joined inside Arrow. Raises DataError,
    with ``source``, for an id that is not in the corpus."""
    import pyarrow.compute as pc

    ids = read_rows(corpus).data.column("id").combine_chunks()
    rows = pc.index_in(documents, value_set=ids)
    if rows.null_count:
        missing = documents.filter(pc.is_null(rows))[0].as_py()
        raise DataError(f"{source}: document {missing!r} is not in the corpus ({rows.null_count} are not)")
    return rows.to_numpy()


def rows_of_few(documents: Sequence[str], corpus: Path, *, source: Path) -> np.ndarray:
    """Return the same rows for few ids in a large corpus, with 4 bytes of memory per corpus row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = read_rows(corpus).data.column("id")
    positions = pc.fill_null(pc.index_in(ids, value_set=pa.array(documents, pa.string())), -1).to_numpy()
    places = np.flatnonzero(positions >= 0)
    rows = np.full(len(documents), -1)
    rows[positions[places][::-1]] = places[::-1]  # the first of equal ids counts
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        problem = f"document {documents[missing[0]]!r} is not in the corpus ({len(missing)} are not)"
        raise DataError(f"{source}: {problem}")
    return rows


def query_texts(queries: Path, wanted: Sequence[str], *, source: Path) -> list[str]:
    """Return the text of each wanted query. Raises DataError for an unknown query."""
    with open(queries / "queries.jsonl", encoding="utf-8") as file:
        texts = {record["id"]: record["text"] for record in map(json.loads, file)}
    missing = next((query for query in wanted if query not in texts), None)
    if missing is not None:
        raise DataError(f"{source}: query {missing!r} is not among the queries")
    return [texts[query] for query in wanted]
