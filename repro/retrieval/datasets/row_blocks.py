"""Keeps rows in blocks on disk, by which an interrupted stage goes on: the files of a dataset."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.store.disk import intact, read_note, write_note

ALL = "all.json"  # is there once every block is


def features_of(columns: Mapping[str, Any]):
    """Return features by name for "string", ["string"] and the like."""
    import datasets

    features = datasets.Features()
    for name, type in columns.items():
        is_list = isinstance(type, list)
        features[name] = datasets.List(datasets.Value(type[0])) if is_list else datasets.Value(type)
    return features


class RowBlocks:
    """The blocks of one dataset in a folder, each an Arrow file with a note of its digest beside it.

    Every block is written as its rows come, with one batch of them in memory. ``join`` moves the blocks into
    a folder that ``datasets.load_from_disk`` reads, e.g. as ``data-00002-of-00442.arrow``. Killed at any
    time, the next attempt keeps every block whose digest is still that of its bytes. Several processes may
    write different blocks.

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
        note = intact(self.folder / f"{first}.json", origin=self.origin)
        return note["facts"] if note else None

    def write(self, first: int, batches: Iterable[Any], facts: Mapping[str, Any]) -> None:
        """Write a block of columns, as lists by name or pyarrow tables; ``facts`` are read after the last
        batch."""
        from datasets.arrow_writer import ArrowWriter

        scratch, path = self.folder / f"{first}.new", self._path(first)
        with ArrowWriter(path=str(scratch), features=self.features, writer_batch_size=self.batch) as writer:
            for batch in batches:
                (writer.write_batch if isinstance(batch, Mapping) else writer.write_table)(batch)
            rows, _ = writer.finalize()
        scratch.replace(path)
        note = self.folder / f"{first}.json"
        write_note(note, [path], origin=self.origin, rows=rows, facts=dict(facts))

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

    def complete(self, blocks: Iterable[int], facts: Mapping[str, Any]) -> int:
        """Note that these blocks, in this order, are all, with ``facts`` of the whole. Returns the number of
        rows."""
        notes = {first: self._read(f"{first}.json") or {} for first in blocks}
        with_rows = [first for first, note in notes.items() if note["rows"]]
        digests = "".join(digest for first in with_rows for digest in notes[first]["sha256"].values())
        content: dict[str, Any] = {"blocks": with_rows, "facts": dict(facts), "digests": digests}
        write_note(self.folder / ALL, [], origin=self.origin, **content)
        return sum(note["rows"] for note in notes.values())

    def completed(self, target: Path) -> dict | None:
        """Return the facts of an attempt with all blocks, which come back from ``target``; None unless all
        are intact."""
        if (layout := self._read(ALL)) is None:
            return None
        for name, first in _file_names(layout["blocks"]).items():
            if (target / name).is_file():
                (target / name).replace(self._path(first))
        is_intact = all(self.kept(first) is not None for first in layout["blocks"])
        return layout["facts"] if is_intact else None

    def join(self, target: Path, *, fingerprint: str = "") -> None:
        """Make the dataset ``target`` of all complete blocks; ``fingerprint`` is its name in the caches of
        `datasets`."""
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
    """Return the file name of each block in a dataset, e.g. ``data-00000-of-00002.arrow``."""
    return {f"data-{n:05d}-of-{len(blocks):05d}.arrow": first for n, first in enumerate(blocks)}
