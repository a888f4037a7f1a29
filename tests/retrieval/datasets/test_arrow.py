"""Rows written as Arrow, and what is looked up in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset

from repro.errors import DataError
from repro.retrieval.datasets.arrow import (
    BATCH,
    IdColumn,
    Lists,
    document_rows,
    list_offsets,
    query_texts,
    rows_of_few,
    write_rows,
)


def _rows(n):
    return ({"id": str(i), "names": [f"a{i}", "é"]} for i in range(n))


COLUMNS = {"id": "string", "names": ["string"]}


@pytest.mark.parametrize("n", [1, BATCH, 2 * BATCH + 1])
def test_rows_come_back_in_order(tmp_path, n):
    from datasets import load_from_disk

    assert write_rows(_rows(n), COLUMNS, tmp_path / "arrow") == n
    read = load_from_disk(str(tmp_path / "arrow"))
    assert read.column_names == ["id", "names"] and len(read) == n
    assert read[n - 1] == {"id": str(n - 1), "names": [f"a{n - 1}", "é"]}
    assert [path.name for path in tmp_path.iterdir()] == ["arrow"]


def test_no_rows_leave_nothing(tmp_path):
    assert write_rows(_rows(0), COLUMNS, tmp_path / "arrow") == 0
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_an_interrupted_attempt_are_not_trusted(tmp_path):
    from datasets import load_from_disk

    write_rows(_rows(5), COLUMNS, tmp_path / "arrow")
    (tmp_path / "arrow.rows").mkdir()
    (tmp_path / "arrow.rows" / "rows.arrow").write_text("half")
    write_rows(_rows(3), COLUMNS, tmp_path / "arrow")
    assert len(load_from_disk(str(tmp_path / "arrow"))) == 3


def test_an_error_of_the_rows_passes_through_and_leaves_no_dataset(tmp_path):
    def broken():
        yield from _rows(BATCH + 2)
        raise DataError("line 3")

    with pytest.raises(DataError, match="line 3"):
        write_rows(broken(), COLUMNS, tmp_path / "arrow")
    assert not (tmp_path / "arrow").exists()


@pytest.mark.parametrize("n", [1, BATCH, 2 * BATCH + 1])
def test_a_column_of_ids_has_them_by_row_and_in_order(tmp_path, n):
    from datasets import Dataset, load_from_disk

    write_rows(_rows(n), COLUMNS, tmp_path / "in batches")
    Dataset.from_dict({"id": [str(i) for i in range(n)]}).save_to_disk(str(tmp_path / "at once"))
    for name in ("in batches", "at once"):
        ids = IdColumn(load_from_disk(str(tmp_path / name)))
        assert len(ids) == n and list(ids) == [str(i) for i in range(n)]
        assert (ids[0], ids[n - 1]) == ("0", str(n - 1))


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
