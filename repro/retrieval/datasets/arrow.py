"""Write rows as an Arrow dataset for ``load_from_disk``, and look up ids, rows and texts."""

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from repro.errors import DataError
from repro.store.disk import intact, read_note, write_note

BATCH = 1000  # rows of a record batch
BLOCK = 20_000  # rows of a block
ALL = "all.json"  # written after the last block


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> int:
    """Write ``rows`` as a dataset that replaces ``folder``. Returns the number of rows.

    ``columns`` maps names to types, "string" or ["string"]. Without rows ``folder`` is only removed.
    """
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
    """Yield up to ``BATCH`` rows at a time as lists by column, e.g. {"id": ["1", "2"]}."""
    iterator, names = iter(rows), list(columns)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield {name: [row[name] for row in batch] for name in names}


def read_rows(artefact: Path):
    """Return the memory-mapped dataset ``arrow`` of an artefact."""
    from datasets import load_from_disk

    return load_from_disk(str(artefact / "arrow"))


def read_queries(artefact: Path) -> list[dict[str, Any]]:
    """Return the queries of an artefact, e.g. [{"id": "1", "text": "moss"}]."""
    with open(artefact / "queries.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


EXAMPLES = {"query": "string", "positives": ["string"], "negatives": ["string"]}
SCORED_EXAMPLES = EXAMPLES | {"positive_scores": ["float32"], "negative_scores": ["float32"]}


class Lists:
    """Many lists concatenated in one array. List i is ``values[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, values: np.ndarray, offsets: np.ndarray):
        self.values, self.offsets = values, offsets

    def __getitem__(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


class ColumnTexts:
    """The strings of a column, e.g. ``id``, read from disk on access."""

    def __init__(self, dataset, column: str):
        self._column = dataset.data.column(column)

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, index: int) -> str:
        return self._column[index].as_py()

    def __iter__(self) -> Iterator[str]:
        for chunk in self._column.chunks:
            for first in range(0, len(chunk), BATCH):
                yield from chunk[first : first + BATCH].to_pylist()


def list_offsets(column) -> np.ndarray:
    """Return where each of a column's L lists starts in its flattened values, and the end, (L + 1,)."""
    return np.concatenate(([0], np.cumsum(pc.list_value_length(column).to_numpy())))


def document_rows(documents, corpus: Path, *, source: Path) -> np.ndarray:
    """Return the corpus rows of a pyarrow array of N ids, (N,). Raises DataError for an unknown id."""
    ids = read_rows(corpus).data.column("id").combine_chunks()
    rows = pc.index_in(documents, value_set=ids)
    if rows.null_count:
        raise _absent(documents.filter(pc.is_null(rows))[0].as_py(), rows.null_count, source)
    return rows.to_numpy()


def rows_of_few(documents: Sequence[str], corpus: Path, *, source: Path) -> np.ndarray:
    """Return rows of distinct ids, with less memory than ``document_rows`` needs if there are few.

    Raises DataError for an unknown or repeated id.
    """
    ids = read_rows(corpus).data.column("id")
    positions = pc.fill_null(pc.index_in(ids, value_set=pa.array(documents, pa.string())), -1).to_numpy()
    places = np.flatnonzero(positions >= 0)
    rows = np.full(len(documents), -1)
    rows[positions[places][::-1]] = places[::-1]  # of equal ids the first counts
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise _absent(documents[missing[0]], len(missing), source)
    return rows


def passages(documents: Sequence[str], corpus: Path, *, source: Path) -> dict[str, dict[str, str]]:
    """Return {"title", "text"} by id for different ids. Raises DataError for an unknown or repeated id."""
    rows = rows_of_few(documents, corpus, source=source)
    texts = read_rows(corpus).select_columns(["title", "text"]).with_format("arrow")
    return dict(zip(documents, texts[rows].to_pylist(), strict=True))


def _absent(document: str, count: int, source: Path) -> DataError:
    return DataError(f"{source}: document {document!r} is not in the corpus ({count} are not)")


def query_texts(queries: Path, wanted: Sequence[str], *, source: Path) -> list[str]:
    """Return the texts of the query ids ``wanted``, in order. Raises DataError if one is missing."""
    texts = {record["id"]: record["text"] for record in read_queries(queries)}
    missing = next((query for query in wanted if query not in texts), None)
    if missing is not None:
        raise DataError(f"{source}: query {missing!r} is not among the queries")
    return [texts[query] for query in wanted]


def features_of(columns: Mapping[str, Any]):
    """Return the `datasets` features of columns, e.g. {"negatives": ["string"]}."""
    import datasets

    def feature(type: str | list[str]):
        return datasets.List(feature(type[0])) if isinstance(type, list) else datasets.Value(type)

    return datasets.Features({name: feature(type) for name, type in columns.items()})


class RowBlocks:
    """A dataset that is written in blocks, each an Arrow file with a note of its digest.

    Blocks are named by a number, ``first``. A later attempt keeps unchanged blocks of the same ``origin``
    (JSON). Several processes may write different blocks. A record batch has ``batch`` rows.
    """

    def __init__(self, folder: Path, columns: Mapping[str, Any], *, origin: Any = None, batch: int = 1000):
        self.folder, self.features, self.batch = folder, features_of(columns), batch
        self.origin = json.loads(json.dumps(origin))
        folder.mkdir(parents=True, exist_ok=True)

    def kept(self, first: int) -> dict | None:
        """Return a written block's facts, or None if its file is missing or changed."""
        note = intact(self.folder / f"{first}.json", origin=self.origin)
        return note["facts"] if note else None

    def write(self, first: int, batches: Iterable[Any], facts: Mapping[str, Any]) -> None:
        """Write a block from ``batches``: pyarrow tables, or lists by column name.

        ``facts`` are read after the last batch.
        """
        from datasets.arrow_writer import ArrowWriter

        path = self._path(first)
        with ArrowWriter(path=str(path), features=self.features, writer_batch_size=self.batch) as writer:
            for batch in batches:
                (writer.write_batch if isinstance(batch, Mapping) else writer.write_table)(batch)
            rows, _ = writer.finalize()
        note = self.folder / f"{first}.json"
        write_note(note, [path], origin=self.origin, rows=rows, facts=dict(facts))

    def tables(self, first: int) -> Iterator[Any]:
        """Yield a block's record batches, not memory-mapped, as mapped pages stay in memory."""
        with pa.OSFile(str(self._path(first))) as file:
            for batch in pa.ipc.open_stream(file):
                yield pa.Table.from_batches([batch])

    def places(self, first: int) -> Iterator[int]:
        """Yield the byte offset of each record batch in the file of block ``first``."""
        with pa.OSFile(str(self._path(first))) as file:
            pa.ipc.read_message(file)  # the schema
            place = file.tell()
            while True:
                try:
                    pa.ipc.read_message(file)
                except EOFError:
                    return
                yield place
                place = file.tell()

    def table(self, first: int, place: int) -> Any:
        """Return the record batch at one of a block's ``places``."""
        with pa.OSFile(str(self._path(first))) as file:
            file.seek(place)
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(file), self.features.arrow_schema)
            return pa.Table.from_batches([batch])

    def complete(self, blocks: Iterable[int], facts: Mapping[str, Any]) -> int:
        """Record these ``blocks``, in order, as the whole dataset. Returns its number of rows."""
        notes = {first: self._read(f"{first}.json") or {} for first in blocks}
        with_rows = [first for first, note in notes.items() if note["rows"]]
        digests = "".join(digest for first in with_rows for digest in notes[first]["sha256"].values())
        content: dict[str, Any] = {"blocks": with_rows, "facts": dict(facts), "digests": digests}
        write_note(self.folder / ALL, [], origin=self.origin, **content)
        return sum(note["rows"] for note in notes.values())

    def completed(self, target: Path) -> dict | None:
        """Return a complete attempt's facts, with its files moved back from ``target``. None without one."""
        if (layout := self._read(ALL)) is None:
            return None
        for name, first in _file_names(layout["blocks"]).items():
            if (target / name).is_file():
                (target / name).replace(self._path(first))
        is_intact = all(self.kept(first) is not None for first in layout["blocks"])
        return layout["facts"] if is_intact else None

    def join(self, target: Path, *, fingerprint: str = "") -> None:
        """Move all blocks into ``target``, e.g. as ``data-00002-of-00442.arrow``.

        ``fingerprint`` identifies the dataset in the caches of `datasets`.
        """
        import datasets

        layout = self._read(ALL) or {}
        names, digests = _file_names(layout["blocks"]), layout["digests"].encode()
        shutil.rmtree(target, ignore_errors=True)
        datasets.disable_progress_bars()
        empty = datasets.Dataset.from_dict({name: [] for name in self.features}, features=self.features)
        empty.save_to_disk(target)
        state = json.loads((target / "state.json").read_text())
        (target / "state.json").unlink()
        for path in target.glob("*.arrow"):
            path.unlink()
        for name, first in names.items():
            self._path(first).replace(target / name)
        state["_data_files"] = [{"filename": name} for name in names]
        state["_fingerprint"] = fingerprint or hashlib.sha256(digests).hexdigest()[:16]
        (target / "state.json").write_text(json.dumps(state, indent=2, sort_keys=True))

    def _path(self, first: int) -> Path:
        return self.folder / f"{first}.arrow"

    def _read(self, name: str) -> dict | None:
        return read_note(self.folder / name, origin=self.origin)


def _file_names(blocks: list[int]) -> dict[str, int]:
    return {f"data-{n:05d}-of-{len(blocks):05d}.arrow": first for n, first in enumerate(blocks)}
