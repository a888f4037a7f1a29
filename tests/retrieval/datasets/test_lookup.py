from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset

from repro.errors import DataError
from repro.retrieval.datasets.arrow import (
    Lists,
    document_rows,
    list_offsets,
    query_texts,
    rows_of_few,
    write_rows,
)


def test_lists_end_to_end_are_the_lists():
    draw = np.random.default_rng(0)
    lists = [draw.integers(9, size=size).tolist() for size in draw.integers(0, 4, 200)]
    column = pa.chunked_array([pa.array(lists[:70]), pa.array(lists[70:])])
    found = Lists(np.concatenate(lists).astype(int), list_offsets(column))
    assert len(found) == 200 and [found[n].tolist() for n in range(200)] == lists
    assert found.lengths().tolist() == [len(one) for one in lists]


def test_documents_are_found_by_id_in_any_order(tmp_path):
    Dataset.from_dict({"id": ["b", "a", "c"]}).save_to_disk(str(tmp_path / "arrow"))
    assert document_rows(pa.array(["c", "b", "c"]), tmp_path, source=Path("x")).tolist() == [2, 0, 2]
    with pytest.raises(DataError, match=r"run: document 'z' is not in the corpus \(2 are not\)"):
        document_rows(pa.array(["c", "z", "y"]), tmp_path, source=Path("run"))


def test_few_documents_are_found_as_all_are(tmp_path):
    names = [f"d{n * 7 % 2003}" for n in range(2500)]  # some come twice
    write_rows(({"id": name} for name in names), {"id": "string"}, tmp_path / "arrow")
    wanted = names[::-3]
    expected = document_rows(pa.array(wanted), tmp_path, source=Path("x"))
    distinct = list(dict.fromkeys(wanted))
    found = dict(zip(distinct, rows_of_few(distinct, tmp_path, source=Path("x")), strict=True))
    assert [found[name] for name in wanted] == expected.tolist()
    with pytest.raises(DataError, match=r"run: document 'z' is not in the corpus \(2 are not\)"):
        rows_of_few(["d1", "z", "y"], tmp_path, source=Path("run"))


def test_queries_are_found_by_id(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n')
    assert query_texts(tmp_path, ["2", "1", "2"], source=Path("x")) == ["two", "one", "two"]
    with pytest.raises(DataError, match="x: query '3' is not among the queries"):
        query_texts(tmp_path, ["1", "3"], source=Path("x"))
