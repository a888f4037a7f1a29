from __future__ import annotations

import numpy as np
import pytest

from repro.errors import DataError
from repro.retrieval.stages.vectors import vector_files
from repro.retrieval.stages.vectors.vector_files import (
    IdFile,
    VectorFile,
    new_array,
    read_embeddings,
    write_ids,
)

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
def test_a_range_of_rows_is_read_as_float32_into_a_buffer_or_a_new_array(tmp_path, kind):
    whole = np.random.default_rng(0).normal(size=(20, 5)).astype(kind)
    np.save(tmp_path / "vectors.npy", whole)
    vectors, buffer = VectorFile(tmp_path), np.zeros((6, 5), dtype=np.float32)
    assert vectors.shape == (20, 5)
    for first, end in [(0, 6), (17, 20)]:
        read = vectors.read(first, end, into=buffer)
        assert np.shares_memory(read, buffer) and read.dtype == np.float32
        np.testing.assert_array_equal(read, whole[first:end].astype(np.float32))
        np.testing.assert_array_equal(vectors.read(first, end), read)


def test_files_that_are_no_embeddings_are_refused(tmp_path):
    with pytest.raises(DataError, match="not an array of vectors"):
        VectorFile(tmp_path)
    np.save(tmp_path / "vectors.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        VectorFile(tmp_path)
    np.save(tmp_path / "vectors.npy", np.zeros((3, 2)))
    save_ids(tmp_path, ["a"])
    with pytest.raises(DataError, match="3 vectors, but 1 ids"):
        read_embeddings(tmp_path)


def test_a_new_array_is_zeros_that_have_their_space_on_the_disk(tmp_path):
    array = new_array(tmp_path / "vectors.npy", (1000, 64), np.float32)
    assert (tmp_path / "vectors.npy").stat().st_blocks * 512 >= array.nbytes
    array[3] = 1
    array.flush()
    assert np.load(tmp_path / "vectors.npy").sum() == 64


@pytest.mark.parametrize("name", ["a\nb", "a b", "", "a\u00a0b", "a\r"])
def test_an_id_that_a_run_cannot_hold_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"some/corpus: the id .* white space .* give that text another id"):
        write_ids(["d0", name], tmp_path, "some/corpus")
