"""Keeps rows in blocks on disk, by which an interrupted stage goes on, and joins them into a dataset.

The dataset has the files that ``datasets.Dataset.save_to_disk`` writes, without the rows in one place.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.retrieval.datasets.digests import file_sha256
from repro.store.disk import write_whole

ALL = "all.json"  # stands where every block is there
OFFSET = 4  # bytes of an offset in an array of strings or lists


def features_of(columns: Mapping[str, Any]):
    """Return features by name for "string", ["string"] and the like."""
    import datasets

    features = datasets.Features()
    for name, type in columns.items():
        is_list = isinstance(type, list)
        features[name] = datasets.List(datasets.Value(type[0])) if is_list else datasets.Value(type)
    return features


@dataclass(frozen=True)
class DatasetFile:
    """One file of a dataset and the blocks of rows that it is made of.

    Arrow fills what it writes of a larger array up to 64 bytes by what follows there: so files show how the
    rows lay in memory, and are made of rows that lie the same way.

    Attributes:
        begin, end: the rows of the dataset that it holds.
        batch: rows of its record batches.
        held: rows of the record batches that it is cut from; None: as in the blocks, 0: all rows in one.
        blocks: block -> row of the dataset with which the block begins.
        finished: the blocks that no later file needs.
    """

    name: str
    begin: int
    end: int
    batch: int
    held: int | None
    blocks: dict[int, int]
    finished: list[int]

    def regrouped(self, tables: Callable[[int], Iterable[Any]]) -> Iterator[Any]:
        """Yield the rows of the file as tables of ``batch`` rows; ``tables`` gives those of a block."""
        if self.held == 0:
            yield from self._cut_from_one(tables)
            return
        first = _reach(self.begin, self.end, self.batch, self.held)[0]
        rows = self._rows(tables)
        if self.held:
            rows = (table.combine_chunks() for table in _groups(rows, self.held))
        yield from _groups(_slice_rows(rows, self.begin - first, self.end - first), self.batch)

    def _cut_from_one(self, tables: Callable[[int], Iterable[Any]]) -> Iterator[Any]:
        remainder = self.end - self.begin
        for table in _groups(self._rows(tables), self.batch, ahead=self.batch):
            yield table.combine_chunks().slice(0, min(self.batch, remainder))
            remainder -= self.batch
            if remainder <= 0:
                return

    def _rows(self, tables: Callable[[int], Iterable[Any]]) -> Iterator[Any]:
        first, last = _reach(self.begin, self.end, self.batch, self.held)
        for block, place in self.blocks.items():
            yield from _slice_rows(tables(block), first - place, last - place)


def _reach(begin: int, end: int, batch: int, held: int | None) -> tuple[int, int]:
    """Return the rows that are needed to write those from ``begin`` to ``end`` as they lay in memory."""
    if held is None:
        return begin, end
    return (begin // held * held, -(-end // held) * held) if held else (begin, end + batch)


def _slice_rows(tables: Iterable[Any], begin: int, end: int) -> Iterator[Any]:
    """Yield the rows from ``begin`` to ``end`` of tables that follow each other."""
    place = 0
    for table in tables:
        first, last = max(begin - place, 0), min(end - place, len(table))
        if first < last:
            yield table.slice(first, last - first)
        place += len(table)


def _groups(tables: Iterable[Any], size: int, *, ahead: int = 0) -> Iterator[Any]:
    """Yield tables of ``size`` rows, the last of fewer; each with up to ``ahead`` of the rows that follow."""
    import pyarrow as pa

    buffer, count = [], 0
    for table in tables:
        buffer.append(table)
        count += len(table)
        while count >= size + ahead:
            merged_table = pa.concat_tables(buffer)
            yield merged_table.slice(0, size + ahead)
            buffer, count = [merged_table.slice(size)], count - size
    while count > 0:
        merged_table = pa.concat_tables(buffer)
        yield merged_table.slice(0, size + ahead)
        buffer, count = [merged_table.slice(size)], count - size


def dataset_files(layout: Mapping[str, Any]) -> Iterator[DatasetFile]:
    """Share the rows of the ``blocks``, each a block and its number of rows, among ``files`` files in order.

    Args:
        layout: with ``batch`` and ``held``, as of ``DatasetFile``, and these two.
    """
    blocks, files, batch, held = (layout[name] for name in ("blocks", "files", "batch", "held"))
    spans, total = [], 0
    for first, rows in blocks:
        spans.append((first, total, total + rows))
        total += rows
    begin = 0
    for number in range(files):
        end = begin + total // files + (number < total % files)
        low, high = _reach(begin, end, batch, held)
        file_blocks = {first: place for first, place, last in spans if place < high and last > low}
        next_row = _reach(end, end, batch, held)[0] if end < total else total
        finished_blocks = [first for first, _, last in spans if last <= next_row]
        name = f"data-{number:05d}-of-{files:05d}.arrow"
        yield DatasetFile(name, begin, end, batch, held, file_blocks, finished_blocks)
        begin = end


def file_count(rows: int, size: int) -> dict[str, int]:
    """Return the number of ``files`` that `datasets` writes for rows of that size, and a ``batch``'s."""
    from datasets import config
    from datasets.arrow_writer import get_writer_batch_size_from_data_size
    from datasets.utils.py_utils import convert_file_size_to_int

    files = min(rows, int(size / convert_file_size_to_int(config.MAX_SHARD_SIZE)) + 1)
    batch = min(config.DEFAULT_MAX_BATCH_SIZE, get_writer_batch_size_from_data_size(rows, size))
    return {"files": files, "batch": batch}


def offset_slack_bytes(features) -> int:
    """Return the bytes of offsets that arrays of a record batch have beyond one for each of their entries."""
    return OFFSET * sum(map(_offsets, features.arrow_schema.types))


def _offsets(type) -> int:
    """Return the number of arrays of offsets in an Arrow array of this type."""
    import pyarrow.types as types

    if types.is_list(type):
        return 1 + _offsets(type.value_type)
    return int(types.is_string(type))


def describe(features, folder: Path, names: Sequence[str], *, fingerprint: str, scratch: Path) -> None:
    """Write the two files beside a dataset's rows: its features, and the ``names`` of its files.

    ``scratch`` is a folder that may be made for it, and is removed.
    """
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({name: [] for name in features}, features=features).save_to_disk(scratch)
    state = json.loads((scratch / "state.json").read_text())
    state |= {"_data_files": [{"filename": name} for name in names], "_fingerprint": fingerprint}
    (folder / "state.json").write_text(json.dumps(state, indent=2, sort_keys=True))
    shutil.copyfile(scratch / "dataset_info.json", folder / "dataset_info.json")
    shutil.rmtree(scratch)


class RowBlocks:
    """The blocks of one dataset in a folder, each an Arrow file with a note of its digest beside it.

    Every block is written as its rows come, with one batch of them in memory. ``join`` copies the blocks into
    the files that ``datasets.Dataset.save_to_disk`` writes for all rows at once, to the same bytes, and lets
    go of each block that it has copied: together they take the space of the rows once, and of one file
    (500 MB) more. Killed at any time, the next attempt keeps every block and file whose digest is still that
    of its bytes. Several processes may write different blocks.

    Args:
        folder: where the blocks lie.
        columns: names -> feature types: "string", or ["string"] for lists.
        origin: what the rows are made from, as JSON; a block that was made from anything else is not kept.
        batch: the most rows of a record batch in a block.
    """

    def __init__(self, folder: Path, columns: Mapping[str, Any], *, origin: Any = None, batch: int = 1000):
        self.folder, self.features, self.batch = folder, features_of(columns), batch
        self.origin = json.loads(json.dumps(origin))
        folder.mkdir(parents=True, exist_ok=True)

    def kept(self, first: int) -> dict | None:
        """Return the facts of a block that is still as it was written, else None."""
        note, path = self._read(f"{first}.json"), self._path(first)
        return note["facts"] if note and path.is_file() and file_sha256(path) == note["sha256"] else None

    def write(self, first: int, batches: Iterable[Any], facts: Mapping[str, Any]) -> None:
        """Write a block of columns by name, as lists, or pyarrow tables.

        ``facts`` are looked at when the last batch has come.
        """
        from datasets.arrow_writer import ArrowWriter

        scratch, path = self.folder / f"{first}.new", self._path(first)
        with ArrowWriter(path=str(scratch), features=self.features, writer_batch_size=self.batch) as writer:
            for batch in batches:
                (writer.write_batch if isinstance(batch, Mapping) else writer.write_table)(batch)
            writer.finalize()
        scratch.replace(path)
        rows = size = count = 0
        for table in self.tables(first):
            rows, size, count = rows + len(table), size + table.nbytes, count + 1
        note = {
            "rows": rows,
            "bytes": size,
            "batches": count,
            "facts": dict(facts),
            "sha256": file_sha256(path),
        }
        self._write(f"{first}.json", note)

    def tables(self, first: int) -> Iterator[Any]:
        """Yield a block's rows, a record batch at a time; read and not mapped, since what is mapped stays."""
        import pyarrow as pa

        with pa.OSFile(str(self._path(first))) as file:
            for batch in pa.ipc.open_stream(file):
                yield pa.Table.from_batches([batch])

    def places(self, first: int) -> Iterator[int]:
        """Yield the offsets, in bytes, at which the record batches of the block from row ``first`` begin."""
        import pyarrow as pa

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
        """Return the record batch of a block at one of its places."""
        import pyarrow as pa

        with pa.OSFile(str(self._path(first))) as file:
            file.seek(place)
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(file), self.features.arrow_schema)
            return pa.Table.from_batches([batch])

    def complete(self, blocks: Iterable[int], facts: Mapping[str, Any], *, held: int | None = None) -> int:
        """Note that these blocks, in this order, are all there are; returns the number of rows.

        Args:
            facts: of the whole, for ``completed``.
            held: rows of the record batches in which `datasets` would hold them before it saves them, which
                show in the number of files and in the bytes between arrays; None: the batches as written, 0:
                all rows in one.
        """
        notes = {first: self._read(f"{first}.json") or {} for first in blocks}
        rows, size, written_batches = (
            sum(n[name] for n in notes.values()) for name in ("rows", "bytes", "batches")
        )
        batches = written_batches if held is None else -(-rows // (held or rows or 1))
        layout = file_count(rows, size + (batches - written_batches) * offset_slack_bytes(self.features))
        for path in self.folder.glob("*.sha256"):
            path.unlink()
        block_rows = [[first, note["rows"]] for first, note in notes.items()]
        self._write(ALL, {"blocks": block_rows, "facts": dict(facts), **layout, "held": held})
        return rows

    def completed(self, target: Path) -> dict | None:
        """Return the facts of an attempt with all blocks; None unless they or what they became are intact."""
        if (layout := self._read(ALL)) is None:
            return None
        needed_blocks = {
            first
            for file in dataset_files(layout)
            if not self._is_joined(target, file)
            for first in file.blocks
        }
        if all(self.kept(first) is not None for first in needed_blocks):
            return layout["facts"]
        (self.folder / ALL).unlink()
        return None

    def join(self, target: Path, *, fingerprint: str = "") -> None:
        """Make the dataset ``target`` of all blocks once they are complete.

        ``fingerprint`` is the dataset's in the caches of `datasets`; without one it follows from the rows.
        """
        files = list(dataset_files(self._read(ALL) or {}))
        target.mkdir(exist_ok=True)
        for path in target.iterdir():
            if path.name not in {file.name for file in files}:
                path.unlink()
        for file in files:
            if not self._is_joined(target, file):
                self._write_file(target, file)
            for first in file.finished:
                self._path(first).unlink(missing_ok=True)
        digests = "".join((self.folder / f"{file.name}.sha256").read_text() for file in files)
        fingerprint = fingerprint or hashlib.sha256(digests.encode()).hexdigest()[:16]
        names, scratch = [file.name for file in files], self.folder / "empty"
        describe(self.features, target, names, fingerprint=fingerprint, scratch=scratch)

    def _write_file(self, target: Path, file: DatasetFile) -> None:
        from datasets.arrow_writer import ArrowWriter

        scratch, path = self.folder / "file.new", target / file.name
        with ArrowWriter(path=str(scratch), features=self.features) as writer:
            for table in file.regrouped(self.tables):
                writer.write_table(table)
            writer.finalize()
        with scratch.open("rb") as stream:
            os.fsync(stream.fileno())  # its blocks go
        scratch.replace(path)
        (self.folder / f"{file.name}.sha256").write_text(file_sha256(path))

    def _is_joined(self, target: Path, file: DatasetFile) -> bool:
        path, digest = target / file.name, self.folder / f"{file.name}.sha256"
        return path.is_file() and digest.is_file() and file_sha256(path) == digest.read_text()

    def _path(self, first: int) -> Path:
        return self.folder / f"{first}.arrow"

    def _read(self, name: str) -> dict | None:
        """Return a note about rows of the same origin; None for any other, or one that cannot be read."""
        try:
            note = json.loads((self.folder / name).read_text())
            return note if note.pop("origin") == self.origin else None
        except (OSError, ValueError, KeyError, AttributeError):
            return None

    def _write(self, name: str, note: Mapping[str, Any]) -> None:
        write_whole(self.folder / name, json.dumps({"origin": self.origin, **note}))
