"""Rows written as Arrow, and what is looked up in them."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset, load_from_disk

from repro.errors import DataError
from repro.retrieval.datasets.arrow import (
    BATCH,
    ColumnTexts,
    Lists,
    RowBlocks,
    document_rows,
    in_batches,
    list_offsets,
    query_texts,
    rows_of_few,
    write_rows,
)
from repro.store.disk import size_on_disk
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.rows_at_once import check_equal_files, check_rows

BLOCK_COLUMNS = {"id": "string", "text": "string", "names": ["string"], "scores": ["float32"]}
MANY = 7001


def _rows(n):
    return ({"id": str(i), "names": [f"a{i}", "é"]} for i in range(n))


COLUMNS = {"id": "string", "names": ["string"]}


def test_no_rows_leave_nothing(tmp_path):
    assert write_rows(_rows(0), COLUMNS, tmp_path / "arrow") == 0
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_an_interrupted_attempt_are_not_trusted(tmp_path):
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
    write_rows(_rows(n), COLUMNS, tmp_path / "in batches")
    Dataset.from_dict({"id": [str(i) for i in range(n)]}).save_to_disk(str(tmp_path / "at once"))
    for name in ("in batches", "at once"):
        ids = ColumnTexts(load_from_disk(str(tmp_path / name)), "id")
        assert len(ids) == n and list(ids) == [str(i) for i in range(n)]
        assert (ids[0], ids[n - 1]) == ("0", str(n - 1))


def test_lists_end_to_end_are_the_lists():
    draw = np.random.default_rng(0)
    lists = [draw.integers(9, size=size).tolist() for size in draw.integers(0, 4, 200)]
    column = pa.chunked_array([pa.array(lists[:70]), pa.array(lists[70:])])
    found = Lists(np.concatenate(lists).astype(int), list_offsets(column))
    assert len(found.lengths()) == 200 and [found[n].tolist() for n in range(200)] == lists
    assert found.lengths().tolist() == [len(one) for one in lists]


def test_documents_are_found_by_id_in_any_order(tmp_path):
    Dataset.from_dict({"id": ["b", "a", "c"]}).save_to_disk(str(tmp_path / "arrow"))
    assert document_rows(pa.array(["c", "b", "c"]), tmp_path, source=Path("x")).tolist() == [2, 0, 2]
    with pytest.raises(DataError, match=r"run: document 'z' is not in the corpus \(2 are not\)"):
        document_rows(pa.array(["c", "z", "y"]), tmp_path, source=Path("run"))


def test_few_documents_are_found_as_all_are(tmp_path):
    names = [f"d{n * 7 % 2003}" for n in range(2500)]
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


def rows(count: int) -> list[dict]:
    draw = random.Random(count)
    return [
        {
            "id": str(n),
            "text": "é" * draw.randrange(9),
            "names": [f"a{n}"] * draw.randrange(4),
            "scores": [draw.random()] * draw.randrange(3),
        }
        for n in range(count)
    ]


def in_blocks(folder, listed, sizes, *, origin=None):
    blocks, first, firsts = RowBlocks(folder, BLOCK_COLUMNS, origin=origin), 0, []
    for size in sizes:
        blocks.write(first, in_batches(listed[first : first + size], BLOCK_COLUMNS), {"last": first + size})
        firsts.append(first)
        first += size
    return blocks, firsts


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 1, MANY])
def test_rows_that_come_one_after_the_other_are_one_file(tmp_path, count):
    assert write_rows(iter(rows(count)), BLOCK_COLUMNS, tmp_path / "rows") == count
    assert check_rows(tmp_path / "rows", rows(count), BLOCK_COLUMNS) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_blocks_of_any_size_become_the_files_of_their_rows(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [1700, 0, 1, 2999, 2301])
    assert blocks.complete(firsts, {}) == MANY
    blocks.join(tmp_path / "joined")
    assert check_rows(tmp_path / "joined", rows(MANY), BLOCK_COLUMNS) == 4
    assert not list((tmp_path / "blocks").glob("170*.arrow"))


def test_a_block_is_kept_as_long_as_it_is_as_it_was_written(tmp_path):
    _, firsts = in_blocks(tmp_path, rows(30), [10, 10, 10], origin=["run", 3])
    again = RowBlocks(tmp_path, BLOCK_COLUMNS, origin=["run", 3])
    assert [again.kept(first) for first in firsts] == [{"last": 10}, {"last": 20}, {"last": 30}]
    file = tmp_path / "10.arrow"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (tmp_path / "20.json").write_text('{"rows"')
    assert [again.kept(first) for first in (*firsts, 30)] == [{"last": 10}, None, None, None]


def test_what_was_made_from_something_else_is_not_kept(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(30), [30], origin=["run", 3])
    blocks.complete(firsts, {})
    other = RowBlocks(tmp_path / "blocks", BLOCK_COLUMNS, origin=["run", 4])
    assert other.kept(0) is None and other.completed(tmp_path / "joined") is None
    assert blocks.completed(tmp_path / "joined") == {}


@pytest.mark.parametrize("moved", [0, 1, 3])
def test_joining_goes_on_wherever_it_was_killed(tmp_path, monkeypatch, moved):
    straight, firsts = in_blocks(tmp_path / "straight", rows(MANY), [1700, 2301, 3000])
    straight.complete(firsts, {})
    straight.join(tmp_path / "expected")
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [1700, 2301, 3000])
    blocks.complete(firsts, {"queries": 3})
    replace, places = Path.replace, []

    def dies(path, place):
        if len(places) == moved:
            raise KeyboardInterrupt
        places.append(place)
        replace(path, place)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dies)
        if moved < 3:
            with pytest.raises(KeyboardInterrupt):
                blocks.join(tmp_path / "joined")
            assert not (tmp_path / "joined/state.json").exists()
        else:
            blocks.join(tmp_path / "joined")
    again = RowBlocks(tmp_path / "blocks", BLOCK_COLUMNS)
    assert again.completed(tmp_path / "joined") == {"queries": 3}
    again.join(tmp_path / "joined")
    check_equal_files(tmp_path / "joined", tmp_path / "expected")


def test_a_joined_file_that_changed_makes_its_block_anew_and_no_other(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [1700, 2301, 3000])
    blocks.complete(firsts, {})
    blocks.join(tmp_path / "joined")
    file = sorted((tmp_path / "joined").glob("*.arrow"))[1]
    file.write_bytes(b"x" + file.read_bytes()[1:])
    assert blocks.completed(tmp_path / "joined") is None
    assert [blocks.kept(first) is None for first in firsts] == [False, True, False]


def test_memory_holds_a_batch_however_many_rows_there_are(tmp_path):
    text = "x" * 2000

    def many():
        return ({"id": str(n), "text": text, "names": [], "scores": []} for n in range(60_000))

    write_rows(rows(10), BLOCK_COLUMNS, tmp_path / "first")
    grown = peak_growth(lambda: write_rows(many(), BLOCK_COLUMNS, tmp_path / "rows"))
    assert size_on_disk(tmp_path / "rows") > 120_000_000
    assert grown < 80_000_000
