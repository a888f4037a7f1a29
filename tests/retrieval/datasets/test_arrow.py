import pytest

from repro.errors import DataError
from repro.retrieval.datasets.arrow import BATCH, IdColumn, write_rows


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
