"""Keeps rows in blocks on disk, by which an interrupted stage goes on, and joins them into a dataset."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.retrieval.datasets.dataset_files import (
    DatasetFile,
    dataset_files,
    describe,
    features_of,
    file_count,
    offset_slack_bytes,
)
from repro.retrieval.datasets.digests import file_sha256

ALL = "all.json"  # stands where every block is there


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
        """The facts of a block that is still as it was written, else None."""
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
        """The rows of a block, a record batch at a time; read and not mapped, since what is mapped stays."""
        import pyarrow as pa

        with pa.OSFile(str(self._path(first))) as file:
            for batch in pa.ipc.open_stream(file):
                yield pa.Table.from_batches([batch])

    def places(self, first: int) -> Iterator[int]:
        """The bytes of a block's file at which its record batches begin."""
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
        """The record batch of a block at one of its places."""
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
        notes = {first: self._read(f"{first}.json") for first in blocks}
        rows, size, written_batches = (
            sum(n[name] for n in notes.values()) for name in ("rows", "bytes", "batches")
        )
        batches = written_batches if held is None else -(-rows // (held or rows or 1))
        layout = file_count(rows, size + (batches - written_batches) * offset_slack_bytes(self.features))
        layout["held"] = held
        for path in self.folder.glob("*.sha256"):
            path.unlink()
        block_rows = [[first, note["rows"]] for first, note in notes.items()]
        self._write(ALL, {"blocks": block_rows, "facts": dict(facts), **layout})
        return rows

    def completed(self, target: Path) -> dict | None:
        """The facts of an attempt that had all blocks; None unless they, or what came of them, are intact."""
        if (layout := self._read(ALL)) is None:
            return None
        needed_blocks = {
            first
            for file in dataset_files(**layout)
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
        files = list(dataset_files(**self._read(ALL)))
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
        """A note about rows of the same origin; None for any other, or one that cannot be read."""
        try:
            note = json.loads((self.folder / name).read_text())
            return note if note.pop("origin") == self.origin else None
        except (OSError, ValueError, KeyError, AttributeError):
            return None

    def _write(self, name: str, note: Mapping[str, Any]) -> None:
        scratch = self.folder / f"{name}.new"
        scratch.write_text(json.dumps({"origin": self.origin, **note}))
        scratch.replace(self.folder / name)
