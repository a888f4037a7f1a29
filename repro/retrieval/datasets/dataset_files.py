"""Lays rows out in the files that ``datasets.Dataset.save_to_disk`` writes, without the rows in one place."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OFFSET = 4  # bytes of an offset in an array of strings or lists


def features_of(columns: Mapping[str, Any]):
    """Features by name for "string", ["string"] and the like."""
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
        """The rows of the file as tables of ``batch`` rows; ``tables`` gives those of a block."""
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
    """The rows that are needed to write those from ``begin`` to ``end`` as they lay in memory."""
    if held is None:
        return begin, end
    return (begin // held * held, -(-end // held) * held) if held else (begin, end + batch)


def _slice_rows(tables: Iterable[Any], begin: int, end: int) -> Iterator[Any]:
    """The rows from ``begin`` to ``end`` of tables that follow each other."""
    place = 0
    for table in tables:
        first, last = max(begin - place, 0), min(end - place, len(table))
        if first < last:
            yield table.slice(first, last - first)
        place += len(table)


def _groups(tables: Iterable[Any], size: int, *, ahead: int = 0) -> Iterator[Any]:
    """Tables of ``size`` rows, the last of fewer; each with up to ``ahead`` of the rows that follow."""
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


def dataset_files(
    *, blocks: Sequence[tuple[int, int]], files: int, batch: int, held: int | None, **_: Any
) -> Iterator[DatasetFile]:
    """Share the rows of ``blocks``, each a block and its number of rows, among ``files`` files in order."""
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
    """The number of ``files`` that `datasets` writes for rows of that size, and their record ``batch``."""
    from datasets import config
    from datasets.arrow_writer import get_writer_batch_size_from_data_size
    from datasets.utils.py_utils import convert_file_size_to_int

    files = min(rows, int(size / convert_file_size_to_int(config.MAX_SHARD_SIZE)) + 1)
    batch = min(config.DEFAULT_MAX_BATCH_SIZE, get_writer_batch_size_from_data_size(rows, size))
    return {"files": files, "batch": batch}


def offset_slack_bytes(features) -> int:
    """Bytes of the offsets that the arrays of a record batch have beyond one for each of their entries."""
    return OFFSET * sum(map(_offsets, features.arrow_schema.types))


def _offsets(type) -> int:
    """The number of arrays of offsets in an Arrow array of this type."""
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
