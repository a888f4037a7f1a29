from __future__ import annotations

import itertools
import shutil

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from repro.errors import DataError, StageError, UsageError
from repro.machine.shard import Shard, only_shard
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.stages import search
from repro.retrieval.stages.vectors import final_scores
from repro.retrieval.stages.vectors.vector_files import VectorFile
from tests.floats import close


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


def searched(out, inputs, progress):
    """Search anew: what an earlier search has found there is taken away."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    return search.run({"depth": 20}, inputs, out, progress)


def run_bytes(folder):
    return tuple((folder / name).read_bytes() for name in ("run.trec", "raw.npy"))


def brute_force(passages, queries, depth):
    run = {}
    for number, query in enumerate(queries):
        scores = [(float(np.float32(query @ passage)), f"d{row}") for row, passage in enumerate(passages)]
        run[f"q{number}"] = [name for _, name in sorted(scores, reverse=True)[:depth]]
    return run


def ranked(run):
    return {query: [name for name, _ in ranking] for query, ranking in run.items()}


@pytest.mark.parametrize(("memory", "queries", "blocks"), [("1GB", 9, 1), ("30kB", 2, 2), ("14200", 1, 3)])
def test_the_ranking_is_that_of_brute_force_within_whatever_memory(
    tmp_path, progress, monkeypatch, memory, queries, blocks
):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", memory)
    together, rows = search.block_sizes(search.search_memory(), queries=9, depth=120, size=16)
    assert (together, -(-300 // rows)) == (queries, blocks)
    generator = np.random.default_rng(0)
    passages, asked = generator.normal(size=(300, 16)), generator.normal(size=(9, 16))
    run, facts = found(tmp_path, progress, passages, asked, 20)
    assert ranked(run) == brute_force(passages, asked, 20)
    assert facts["lines"] == 180
    raw = np.load(tmp_path / "raw.npy")
    best = np.sort(asked @ passages.T, axis=1)[:, ::-1][:, :20]
    close(raw.reshape(9, 20), best)


@pytest.mark.parametrize("rows_per_block", [1000, 13])
def test_ties_go_to_the_greater_id_also_at_the_depths_edge(tmp_path, progress, monkeypatch, rows_per_block):
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 4 * rows_per_block)
    generator = np.random.default_rng(0)
    passages, queries = generator.integers(0, 3, (120, 4)), generator.integers(0, 3, (9, 4))
    run, _ = found(tmp_path, progress, passages, queries, 10)
    assert ranked(run) == brute_force(passages, queries, 10)


@pytest.mark.parametrize("rows_per_block", [1000, 130])
@pytest.mark.parametrize("ahead", [0, 4])
def test_more_equal_vectors_than_are_kept_beyond_the_depth_are_broken_by_id_too(
    tmp_path, progress, monkeypatch, rows_per_block, ahead
):
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 4 * rows_per_block)
    monkeypatch.setattr(final_scores, "ROWS", 64)  # of the readings after the first
    generator = np.random.default_rng(0)
    passages = np.repeat(generator.normal(size=(1, 4)), 400, axis=0).astype(np.float32)
    passages[150 : 150 + ahead] *= np.arange(2, 2 + ahead)[:, None]
    passages[:100] *= -1
    queries = (passages[-1:] * [[1], [2], [-1]]).astype(np.float32)
    run, _ = found(tmp_path, progress, passages, queries, 10)
    assert ranked(run) == brute_force(passages, queries, 10)
    assert ranked(run)["q0"][ahead : ahead + 2] == ["d399", "d398"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["passages", "queries"])
def test_one_vector_of_many_that_is_not_finite_stops_the_search(tmp_path, progress, monkeypatch, bad, side):
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 4 * 100)
    generator = np.random.default_rng(0)
    sides = {"passages": generator.random((500, 4)), "queries": generator.random((7, 4))}
    sides[side][3, 2] = bad
    rows = "0 to 100" if side == "passages" else "0 to 7"
    with pytest.raises(StageError, match=f"{side}/vectors.npy: a vector among rows {rows} is not finite"):
        found(tmp_path, progress, sides["passages"], sides["queries"], 5)


def test_no_query_gives_an_empty_run(tmp_path, progress):
    assert found(tmp_path, progress, np.eye(3), np.empty((0, 3)), 5)[1]["lines"] == 0
    assert (tmp_path / "run.trec").read_text() == "" and len(np.load(tmp_path / "raw.npy")) == 0


@pytest.fixture
def matrix_products():
    """As few queries are multiplied as many are: by matrix products, as other versions of faiss do it."""
    before, faiss.cvar.distance_compute_blas_threshold = faiss.cvar.distance_compute_blas_threshold, 20
    yield
    faiss.cvar.distance_compute_blas_threshold = before


@pytest.mark.usefixtures("matrix_products")
@pytest.mark.parametrize("queries", [30, 1], ids=["by matrix products", "one query after another"])
def test_candidates_are_those_of_faiss_flat_index_in_blocks_too(tmp_path, queries):
    generator = np.random.default_rng(0)
    sides = {"passages": generator.normal(size=(3500, 64)), "queries": generator.normal(size=(queries, 64))}
    files = [VectorFile(embeddings(tmp_path / name, rows, "x")) for name, rows in sides.items()]
    passages, asked = (file.read(0, len(file)) for file in files)
    index = faiss.IndexFlatIP(64)
    index.add(passages)
    expected = index.search(asked, 150)
    held = queries * (4 * 64 + 56 * 150)
    for blocks, memory in {1: 10**8, 4: max(2 * held, held + 1024 * 4 * 64)}.items():
        rows = search.block_sizes(memory, queries=queries, depth=150, size=64)[1]
        assert -(-3500 // min(rows, 3500)) == blocks
        searched = []
        ((start, _, scores, places),) = search.best(
            *files, range(queries), depth=150, memory=memory, advance=searched.append
        )
        assert sum(searched) == queries
        assert start == 0
        close(scores, expected[0])
        np.testing.assert_array_equal(places, expected[1])


def almost_equal(noise, *, queries, passages=1500, size=64):
    """Passages that differ from each other by noise, and queries that are like them."""
    generator = np.random.default_rng(0)
    centre = generator.normal(size=(1, size))
    rows = centre + noise * generator.normal(size=(passages, size))
    return rows.astype(np.float32), (centre + generator.normal(size=(queries, size)) / 2).astype(np.float32)


@pytest.mark.usefixtures("matrix_products")
@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2, 1])
def test_a_run_has_the_same_bytes_on_any_number_of_threads_and_in_any_memory(
    tmp_path, progress, monkeypatch, noise
):
    """The scores of faiss alone give six runs under these six settings, whatever the noise."""
    passages, queries = almost_equal(noise, queries=60)
    inputs = {"passages": embeddings(tmp_path / "passages", passages, "d")}
    inputs["queries"] = embeddings(tmp_path / "queries", queries, "q")
    threads, runs = faiss.omp_get_max_threads(), set()
    for number, memory in itertools.product((1, 2, 8), ("500kB", "1GB")):
        monkeypatch.setenv("REPRO_SEARCH_MEMORY", memory)
        faiss.omp_set_num_threads(number)
        try:
            with threadpool_limits(number):
                searched(tmp_path / "run", inputs, progress)
        finally:
            faiss.omp_set_num_threads(threads)
        runs.add(run_bytes(tmp_path / "run"))
    assert len(runs) == 1
    expected = brute_force(passages.astype(np.float64), queries.astype(np.float64), 20)
    assert ranked(read_run(tmp_path / "run/run.trec")) == expected


def reversed_sums(queries, passages, depth):
    """Search as another device may do it: sums in float32 in another order."""
    products = np.ascontiguousarray(queries[:, ::-1]) @ np.ascontiguousarray(passages[:, ::-1]).T
    return best_of(products, depth)


def ten_bits(queries, passages, depth):
    """Search with the ten bits that a GPU may be told to multiply with."""
    rough = ((side.view(np.int32) & ~0x1FFF).view(np.float32) for side in (queries, passages))
    queries, passages = rough
    return best_of(queries @ passages.T, depth)


def best_of(products, depth):
    places = np.argsort(-products, axis=1, kind="stable")[:, :depth]
    return np.take_along_axis(products, places, axis=1), places


@pytest.mark.parametrize("device", [reversed_sums, ten_bits])
@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2])
def test_a_run_has_the_same_bytes_whatever_device_found_the_candidates(
    tmp_path, progress, monkeypatch, device, noise
):
    passages, queries = almost_equal(noise, queries=9, passages=600)
    inputs = {"passages": embeddings(tmp_path / "passages", passages, "d")}
    inputs["queries"] = embeddings(tmp_path / "queries", queries, "q")
    searched(tmp_path / "run", inputs, progress)
    monkeypatch.setattr(search, "_faiss", lambda depth: device)
    searched(tmp_path / "device", inputs, progress)
    assert run_bytes(tmp_path / "device") == run_bytes(tmp_path / "run")


def test_lengths_that_overflow_hide_no_tie(tmp_path, progress):
    passages = np.full((300, 4), 1e20, np.float32)
    run, _ = found(tmp_path, progress, passages, [[0, 0, 0, 0], [1, 0, -1, 0]], 10)
    assert ranked(run) == brute_force(passages, np.array([[0, 0, 0, 0], [1, 0, -1, 0]]), 10)


@given(
    memory=st.integers(10**4, 10**11),
    queries=st.integers(1, 10**6),
    depth=st.integers(1, 2000),
    size=st.integers(1, 4096),
)
def test_what_is_held_is_never_more_than_the_memory(memory, queries, depth, size):
    try:
        together, rows = search.block_sizes(memory, queries=queries, depth=depth, size=size)
    except UsageError:
        assert memory < 2 * (4 * size + 56 * depth)
        return
    held = together * (4 * size + 32 * depth) + min(together, 4096) * 24 * depth + rows * 4 * size
    assert held <= memory and 1 <= together <= queries and rows >= 1


def test_a_memory_that_holds_no_query_is_refused_with_one_that_does(tmp_path, progress, monkeypatch):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", "300")
    with pytest.raises(UsageError, match="set REPRO_SEARCH_MEMORY to at least 360") as refused:
        found(tmp_path, progress, np.eye(3), np.eye(3), 5)
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", str(refused.value).split()[-1])
    inputs = {"passages": tmp_path / "passages", "queries": tmp_path / "queries"}
    assert search.run({"depth": 5}, inputs, tmp_path, progress)["lines"] == 9


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


def test_an_interrupted_search_takes_over_the_queries_that_are_done(tmp_path, progress, monkeypatch):
    monkeypatch.setattr(search, "BLOCK", 4)
    passages, queries = almost_equal(1e-2, queries=11, passages=300)
    inputs = {"passages": embeddings(tmp_path / "passages", passages, "d")}
    inputs["queries"] = embeddings(tmp_path / "queries", queries, "q")
    facts, done, best = searched(tmp_path / "straight", inputs, progress), [], search.best

    def dies(passages, queries, some, **how):
        if some == dying:
            raise KeyboardInterrupt
        done.append(some)
        return best(passages, queries, some, **how)

    monkeypatch.setattr(search, "best", dies)
    dying, out = range(8, 11), tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        searched(out, inputs, progress)
    assert done == [range(4), range(4, 8)]
    dying = None
    done.clear()
    assert search.run({"depth": 20}, inputs, out, progress) == facts | {"resumed_at": 8}
    assert done == [range(8, 11)] and run_bytes(out) == run_bytes(tmp_path / "straight")


def test_shards_search_for_some_of_the_blocks_and_the_whole_writes_the_run(tmp_path, progress, monkeypatch):
    monkeypatch.setattr(search, "BLOCK", 4)
    passages, queries = almost_equal(1e-2, queries=11, passages=300)
    inputs = {"passages": embeddings(tmp_path / "passages", passages, "d")}
    inputs["queries"] = embeddings(tmp_path / "queries", queries, "q")
    searched(tmp_path / "straight", inputs, progress)
    (out := tmp_path / "shards").mkdir()
    for number in (2, 1):
        with only_shard(Shard(number, 2)):
            assert search.run({"depth": 20}, inputs, out, progress) == {}
    assert {path.name for path in (out / "blocks").glob("*.npz")} == {"0.npz", "4.npz", "8.npz"}
    monkeypatch.setattr(search, "best", None)
    assert search.run({"depth": 20}, inputs, out, progress)["lines"] == 220
    assert run_bytes(out) == run_bytes(tmp_path / "straight")
