import random

import pytest

from repro.retrieval.datasets import arrow
from repro.retrieval.datasets.arrow import in_batches, write_rows
from repro.retrieval.datasets.row_blocks import RowBlocks
from repro.store.disk import size_on_disk
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.rows_at_once import check_equal_files, write_at_once, write_from_memory

COLUMNS = {"id": "string", "text": "string", "names": ["string"], "scores": ["float32"]}
MANY = 7001


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    """`datasets` begins another file after 30 kB instead of 500 MB."""
    monkeypatch.setattr("datasets.config.MAX_SHARD_SIZE", "30KB")


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


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, MANY])
def test_rows_that_come_one_after_the_other_have_the_bytes_of_rows_saved_at_once(
    tmp_path, monkeypatch, count
):
    monkeypatch.setattr(arrow, "BLOCK", 3000)
    assert write_rows(iter(rows(count)), COLUMNS, tmp_path / "blocks") == count
    write_at_once(rows(count), COLUMNS, tmp_path / "at once")
    assert check_equal_files(tmp_path / "blocks", tmp_path / "at once") > count // 1000


@pytest.mark.parametrize(("held", "write"), [(1000, write_at_once), (0, write_from_memory)])
def test_blocks_of_any_size_become_the_files_of_rows_that_lay_otherwise(tmp_path, held, write):
    listed = rows(MANY)
    blocks, firsts = in_blocks(tmp_path / "blocks", listed, [1700, 0, 1, 2999, 2301])
    assert blocks.complete(firsts, {}, held=held) == MANY
    blocks.join(tmp_path / "joined")
    write(listed, COLUMNS, tmp_path / "at once")
    assert check_equal_files(tmp_path / "joined", tmp_path / "at once") > 5


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


@pytest.mark.parametrize("held", [0, 1000])
@pytest.mark.parametrize("files", [0, 1, 4])
def test_joining_goes_on_behind_its_last_file(tmp_path, monkeypatch, files, held):
    listed = rows(MANY)
    blocks, firsts = in_blocks(tmp_path / "blocks", listed, [1700, 2301, 3000])
    blocks.complete(firsts, {"queries": 3}, held=held)
    write_file, written = RowBlocks._write_file, []

    def dies(self, target, file):
        if len(written) == files:
            (self.folder / "file.new").write_bytes(b"half")
            raise KeyboardInterrupt
        written.append(file.name)
        write_file(self, target, file)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RowBlocks, "_write_file", dies)
        blocks.join(tmp_path / "joined")
    before = [path.stat().st_mtime_ns for path in sorted((tmp_path / "joined").iterdir())]
    again = RowBlocks(tmp_path / "blocks", COLUMNS)
    assert again.completed(tmp_path / "joined") == {"queries": 3}
    again.join(tmp_path / "joined")
    after = [path.stat().st_mtime_ns for path in sorted((tmp_path / "joined").glob("*.arrow"))]
    assert after[:files] == before and len(after) > files
    (write_at_once, write_from_memory)[held == 0](listed, COLUMNS, tmp_path / "at once")
    check_equal_files(tmp_path / "joined", tmp_path / "at once")


def test_a_joined_file_that_changed_makes_its_blocks_anew(tmp_path):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [1700, 2301, 3000])
    blocks.complete(firsts, {})
    blocks.join(tmp_path / "joined")
    file = sorted((tmp_path / "joined").glob("*.arrow"))[1]
    file.write_bytes(b"x" + file.read_bytes()[1:])
    assert blocks.completed(tmp_path / "joined") is None and blocks.kept(0) is None


def test_on_disk_the_rows_are_there_once_and_one_file_more(tmp_path, monkeypatch):
    blocks, firsts = in_blocks(tmp_path / "blocks", rows(MANY), [700] * 10 + [1])
    blocks.complete(firsts, {})
    once, most = size_on_disk(tmp_path), []
    write_file = RowBlocks._write_file

    def watched(self, target, file):
        write_file(self, target, file)
        most.append(size_on_disk(tmp_path))

    monkeypatch.setattr(RowBlocks, "_write_file", watched)
    blocks.join(tmp_path / "joined")
    assert len(most) > 10 and max(most) < once + 2 * 30_000 + 700 * 60  # a file, one block begun, headers


def test_memory_holds_a_batch_however_many_rows_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.MAX_SHARD_SIZE", "500MB")
    text = "x" * 2000

    def many():
        return ({"id": str(n), "text": text, "names": [], "scores": []} for n in range(60_000))

    write_rows(rows(10), COLUMNS, tmp_path / "first")  # what the library loads for the first time
    grown = peak_growth(lambda: write_rows(many(), COLUMNS, tmp_path / "rows"))
    assert size_on_disk(tmp_path / "rows") > 120_000_000
    assert grown < 80_000_000  # a block of 40 MB is mapped; what is larger than the rows holds them all
