"""Datasets held against rows, and against each other."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import datasets

from repro.retrieval.datasets.arrow import features_of


def check_rows(folder: Path, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any]) -> int:
    """A dataset has these rows, to the bit, as columns of these types; returns the number of its files."""
    listed, found = list(rows), datasets.load_from_disk(str(folder))
    expected = datasets.Dataset.from_dict(
        {name: [row[name] for row in listed] for name in columns}, features=features_of(columns)
    )
    assert found.features == expected.features
    assert found.data.table.combine_chunks().equals(expected.data.table.combine_chunks())
    return len(list(folder.glob("*.arrow")))


def check_equal_files(folder: Path, expected: Path) -> int:
    names = sorted(path.name for path in expected.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    return sum(name.endswith(".arrow") for name in names)
