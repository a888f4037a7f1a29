import numpy as np
import pytest

from repro.errors import DataError
from repro.retrieval.stages import vectors as vector_files
from repro.retrieval.stages.vectors import IdFile, VectorFile, Views, write_ids

NAMES = ["b", "", "éa", "a10", "a9", "日本", "a", "Z"]


def save_ids(folder, names):
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return IdFile(folder)


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_ids_are_read_by_row_and_sorted_as_python_sorts_them(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(vector_files, "CHUNK", chunk)
    ids = save_ids(tmp_path, NAMES)
    assert len(ids) == 8
    assert ids.at(np.array([7, 2, 2, 0, 1])) == ["Z", "éa", "éa", "b", ""]
    assert ids.at(ids.ascending()) == sorted(NAMES)


def test_an_empty_file_has_no_ids(tmp_path):
    ids = save_ids(tmp_path, [])
    assert len(ids) == 0 and ids.at(np.arange(0)) == [] and len(ids.ascending()) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_range_of_rows_is_read_as_float32_and_single_rows_as_they_are(tmp_path, monkeypatch, kind):
    whole = np.random.default_rng(0).normal(size=(20, 5)).astype(kind)
    np.save(tmp_path / "vectors.npy", whole)
    vectors = VectorFile(tmp_path)
    monkeypatch.setattr(np, "load", None)  # its parser fails in several threads
    assert (len(vectors), vectors.width) == (20, 5)
    assert vectors.read(17, 20).dtype == np.float32 and vectors.at(np.array([3])).dtype == kind
    np.testing.assert_array_equal(vectors.read(17, 20), whole[17:].astype(np.float32))
    np.testing.assert_array_equal(vectors.at(np.array([3, 1])), whole[[3, 1]])


def test_files_that_are_no_embeddings_are_refused(tmp_path):
    np.save(tmp_path / "vectors.npy", np.zeros((3, 2)))
    save_ids(tmp_path, ["a"])
    with pytest.raises(DataError, match="3 vectors, but 1 ids"):
        Views.read(tmp_path)


@pytest.mark.parametrize("name", ["a\nb", "a b", "", "a\u00a0b", "a\r"])
def test_an_id_that_a_run_cannot_hold_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"some/corpus: the id .* white space.* Give that text another id"):
        write_ids(["d0", name], tmp_path, "some/corpus")
