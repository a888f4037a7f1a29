import random
from pathlib import Path

import pytest

from repro.retrieval.datasets.arrow import in_batches, write_rows
from repro.retrieval.datasets.row_blocks import RowBlocks
from repro.store.disk import size_on_disk
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.rows_at_once import check_equal_files, check_rows

COLUMNS = {"id": "string", "text": "string", "names": ["string"], "scores": ["float32"]}
MANY = 7001


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
    """Blocks of so many rows each, as far as the rows go."""
    blocks, first, firsts = RowBlocks(folder, COLUMNS, origin=origin), 0, []
    for size in sizes:
        blocks.write(first, in_batches(listed[first : first + size], COLUMNS), {"last": first + size})
        firsts.append(first)
        first += size
    return blocks, firsts


@pytest.mark.parametrize("count", [1, 1000, MANY])
def test_rows_that_come_one_after_the_other_are_one_file(tmp_path, count):
    assert write_rows(iter(rows(count)), COLUMNS, tmp_path / "rows") == count
    assert check_rows(tmp_path / "rows", rows(count), COLUMNS) == 1


def test_blocks_of_any_size_become_the_files_of_their_rows(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [1700, 0, 1, 2999, 2301])
    assert blocks.complete(firsts, {}) == MANY
    blocks.join(tmp_path / "joined")
    assert check_rows(tmp_path / "joined", rows(MANY), COLUMNS) == 4
    assert not list((tmp_path / "blocks").glob("170*.arrow"))  # moved, not copied


def test_a_block_is_kept_as_long_as_it_is_as_it_was_written(tmp_path):
    _, firsts = in_blocks(tmp_path, rows(30), [10, 10, 10], origin=["run", 3])
    again = RowBlocks(tmp_path, COLUMNS, origin=["run", 3])
    assert [again.kept(first) for first in firsts] == [{"last": 10}, {"last": 20}, {"last": 30}]
    file = tmp_path / "10.arrow"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (tmp_path / "20.json").write_text('{"rows"')
    assert [again.kept(first) for first in (*firsts, 30)] == [{"last": 10}, None, None, None]


def test_what_was_made_from_something_else_is_not_kept(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(30), [30], origin=["run", 3])
    blocks.complete(firsts, {})
    other = RowBlocks(tmp_path / "blocks", COLUMNS, origin=["run", 4])
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
    again = RowBlocks(tmp_path / "blocks", COLUMNS)
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

    write_rows(rows(10), COLUMNS, tmp_path / "first")  # what the library loads for the first time
    grown = peak_growth(lambda: write_rows(many(), COLUMNS, tmp_path / "rows"))
    assert size_on_disk(tmp_path / "rows") > 120_000_000
    assert grown < 80_000_000  # what is larger than the rows holds them all
