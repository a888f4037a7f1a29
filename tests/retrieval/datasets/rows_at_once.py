"""The plain way to write rows: all of them into one Arrow file, and that saved by `datasets`."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import datasets
from datasets.arrow_writer import ArrowWriter

from repro.retrieval.datasets.row_blocks import features_of


def write_at_once(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> None:
    """Write rows that come one after the other, a thousand in a record batch."""
    raw = folder.with_name(f"{folder.name}.raw")
    raw.mkdir(parents=True)
    iterator = iter(rows)
    with ArrowWriter(path=str(raw / "rows.arrow"), features=features_of(columns)) as writer:
        while batch := list(itertools.islice(iterator, 1000)):
            writer.write_batch({name: [row[name] for row in batch] for name in columns})
        writer.finalize()
    datasets.Dataset.from_file(str(raw / "rows.arrow")).save_to_disk(str(folder))
    shutil.rmtree(raw)


def write_from_memory(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], folder: Path) -> None:
    """Write rows that are all in memory, as one record batch."""
    listed = list(rows)
    held = {name: [row[name] for row in listed] for name in columns}
    datasets.Dataset.from_dict(held, features=features_of(columns)).save_to_disk(str(folder))


def check_equal_files(folder: Path, expected: Path) -> int:
    """Two datasets have the same files to the byte, but for the name in caches; returns how many of rows."""
    names = sorted(path.name for path in expected.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        if name != "state.json":
            assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    return sum(name.endswith(".arrow") for name in names)
