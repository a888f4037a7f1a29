from __future__ import annotations

import numpy as np
import pytest

from repro.errors import DataError, StageError
from repro.evaluation.runs import read_run
from repro.stages import search


def embeddings(folder, vectors, prefix):
    folder.mkdir()
    np.save(folder / "vectors.npy", np.asarray(vectors, dtype=np.float32))
    (folder / "ids.txt").write_text("".join(f"{prefix}{row}\n" for row in range(len(vectors))))
    return folder


def found(tmp_path, progress, passages, queries, depth):
    inputs = {
        "passages": embeddings(tmp_path / "passages", passages, "d"),
        "queries": embeddings(tmp_path / "queries", queries, "q"),
    }
    facts = search.run({"depth": depth}, inputs, tmp_path, progress)
    return read_run(tmp_path / "run.trec"), facts


def brute_force(passages, queries, depth):
    run = {}
    for number, query in enumerate(queries):
        scores = [(float(np.float32(query @ passage)), f"d{row}") for row, passage in enumerate(passages)]
        run[f"q{number}"] = [name for _, name in sorted(scores, reverse=True)[:depth]]
    return run


@pytest.mark.parametrize("rows_per_block", [1000, 70, 7])
def test_the_ranking_is_that_of_brute_force_in_however_many_blocks(
    tmp_path, progress, monkeypatch, rows_per_block
):
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 16 * rows_per_block)
    generator = np.random.default_rng(0)
    passages, queries = generator.normal(size=(300, 16)), generator.normal(size=(9, 16))
    run, facts = found(tmp_path, progress, passages, queries, 20)
    assert {query: [name for name, _ in ranking] for query, ranking in run.items()} == brute_force(
        passages, queries, 20
    )
    assert facts["lines"] == 180
    raw = np.load(tmp_path / "raw.npy")
    best = np.sort(queries @ passages.T, axis=1)[:, ::-1][:, :20]
    np.testing.assert_allclose(raw.reshape(9, 20), best, rtol=1e-5)


@pytest.mark.parametrize("rows_per_block", [1000, 13])
def test_ties_go_to_the_greater_id_also_at_the_depths_edge(tmp_path, progress, monkeypatch, rows_per_block):
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 4 * rows_per_block)
    generator = np.random.default_rng(0)
    passages, queries = generator.integers(0, 3, (120, 4)), generator.integers(0, 3, (9, 4))
    run, _ = found(tmp_path, progress, passages, queries, 10)
    assert {query: [name for name, _ in ranking] for query, ranking in run.items()} == brute_force(
        passages, queries, 10
    )


def test_a_depth_beyond_the_collection_gives_all_of_it(tmp_path, progress):
    run, _ = found(tmp_path, progress, np.eye(3), np.eye(3)[:2] + 0.1, 1000)
    assert [len(ranking) for ranking in run.values()] == [3, 3]


def test_scores_that_are_not_finite_and_sizes_that_differ_are_refused(tmp_path, progress):
    with pytest.raises(DataError, match="passages have 3 dimensions, queries 4"):
        found(tmp_path, progress, np.eye(3), np.eye(4), 5)
    (tmp_path / "more").mkdir()
    with pytest.raises(StageError, match="not finite"):
        found(tmp_path / "more", progress, np.full((3, 3), np.inf), np.eye(3), 5)
    (tmp_path / "passages/ids.txt").write_text("d0\n")
    with pytest.raises(DataError, match="3 vectors, but 1 ids"):
        inputs = {"passages": tmp_path / "passages", "queries": tmp_path / "queries"}
        search.run({"depth": 5}, inputs, tmp_path, progress)
