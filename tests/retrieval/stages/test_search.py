import faiss
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from repro.errors import StageError
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.stages import search
from repro.retrieval.stages.vectors import exact_search, search_memory
from tests.floats import close
from tests.retrieval.stages.conftest import bfloat16_products


def embeddings(folder, vectors, prefix):
    folder.mkdir(exist_ok=True)
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


def ranked(run):
    return {query: [name for name, _ in ranking] for query, ranking in run.items()}


def test_the_ranking_and_the_scores_are_those_of_faiss_flat_index(tmp_path, progress, monkeypatch):
    monkeypatch.setattr(exact_search, "BLOCK", 7)
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", 1 << 16)
    generator = np.random.default_rng(0)
    passages, queries = (generator.normal(size=(n, 64)).astype(np.float32) for n in (900, 30))
    run, facts = found(tmp_path, progress, passages, queries, 20)
    index = faiss.IndexFlatIP(64)
    index.add(passages)
    scores, places = index.search(queries, 20)
    assert list(ranked(run).values()) == [[f"d{place}" for place in row] for row in places]
    close(np.load(tmp_path / "raw.npy").reshape(scores.shape), scores)
    assert facts["lines"] == 600 and (tmp_path / "run.trec").read_text().split("\n")[0].endswith(" dense")


@pytest.mark.parametrize("rows_per_block", [1000, 130])
@pytest.mark.parametrize("ahead", [0, 4])
def test_more_equal_vectors_than_are_kept_beyond_the_depth_are_broken_by_id_too(
    tmp_path, progress, monkeypatch, rows_per_block, ahead
):
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", (16 * 4 + 32 * 3) * rows_per_block)
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
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", (16 * 4 + 32 * 7) * 100)
    generator = np.random.default_rng(0)
    sides = {"passages": generator.random((500, 4)), "queries": generator.random((7, 4))}
    sides[side][3, 2] = bad
    with pytest.raises(StageError, match="an embedding contains nan or infinity"):
        found(tmp_path, progress, sides["passages"], sides["queries"], 5)


def almost_equal(noise, *, queries, passages=1500, size=64):
    generator = np.random.default_rng(0)
    centre = generator.normal(size=(1, size))
    rows = centre + noise * generator.normal(size=(passages, size))
    return rows.astype(np.float32), (centre + generator.normal(size=(queries, size)) / 2).astype(np.float32)


@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2, 1])
def test_a_run_has_the_same_bytes_on_any_number_of_threads(tmp_path, progress, noise):
    passages, queries = almost_equal(noise, queries=60)
    threads, runs = torch.get_num_threads(), set()
    for number in (1, 2, 8):
        torch.set_num_threads(number)
        (folder := tmp_path / str(number)).mkdir()
        try:
            with threadpool_limits(number):
                run, _ = found(folder, progress, passages, queries, 20)
        finally:
            torch.set_num_threads(threads)
        runs.add(tuple((folder / name).read_bytes() for name in ("run.trec", "raw.npy")))
    assert len(runs) == 1
    assert ranked(run) == brute_force(passages.astype(np.float64), queries.astype(np.float64), 20)


def runs_of_devices(tmp_path, progress, monkeypatch, passages, queries):
    """Run bytes of float32 on one device, and of float32 and bfloat16 on three."""
    for number, set_up in enumerate((None, lambda _: None, bfloat16_products)):
        if set_up:
            monkeypatch.setattr(exact_search, "devices", lambda: [torch.device("cpu")] * 3)
            monkeypatch.setattr(search_memory, "BLOCK_BYTES", 1 << 17)
            set_up(monkeypatch)
        (folder := tmp_path / str(number)).mkdir()
        found(folder, progress, passages, queries, 20)
        yield tuple((folder / name).read_bytes() for name in ("run.trec", "raw.npy"))


@pytest.mark.parametrize("spare", [1, 1000])
@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2, 1])
def test_bfloat16_and_several_devices_give_the_same_bytes(tmp_path, progress, monkeypatch, noise, spare):
    monkeypatch.setitem(exact_search.SPARE, torch.bfloat16, spare)
    runs = runs_of_devices(tmp_path, progress, monkeypatch, *almost_equal(noise, queries=60))
    assert len(set(runs)) == 1


@pytest.mark.parametrize("last", [2.0**-8, 2.0**-16, 2.0**-20])
def test_vectors_that_bfloat16_cannot_tell_apart_are_ranked(tmp_path, progress, monkeypatch, last):
    """Passages differ only in bits that their bfloat16 part, or both parts, omit."""
    generator = np.random.default_rng(0)
    passages = np.ones((1500, 32)) + last * generator.integers(0, 2, (1500, 32))
    queries = 1 + generator.integers(0, 2, (40, 32)) / 256
    runs = runs_of_devices(tmp_path, progress, monkeypatch, passages, queries)
    assert len(set(runs)) == 1


def test_lengths_that_overflow_hide_no_tie(tmp_path, progress):
    passages = np.full((300, 4), 1e20, np.float32)
    run, _ = found(tmp_path, progress, passages, [[0, 0, 0, 0], [1, 0, -1, 0]], 10)
    assert ranked(run) == brute_force(passages, np.array([[0, 0, 0, 0], [1, 0, -1, 0]]), 10)
