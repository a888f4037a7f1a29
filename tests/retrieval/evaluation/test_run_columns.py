"""A run is kept as columns: what it takes in memory, and that no bound between blocks is seen in it."""

import gzip

import numpy as np
import pytest

from repro.retrieval.evaluation import measures
from repro.retrieval.evaluation import runs as run_columns
from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.runs import read_fast, read_run
from tests.bounded_memory import peak_growth

MEASURES = ["RR@10", "nDCG@10", "R(rel=2)@50", "R@1000"]


def made(folder, queries, depth):
    """A run of as many equal rankings, and judgements of three documents a query, one of which it has."""
    random = np.random.default_rng(3)
    documents = random.permutation(10 * depth)[:depth].tolist()
    scores = np.sort(-random.random(depth)).tolist()
    places = enumerate(zip(documents, scores, strict=True), 1)
    lines = "".join(f"QUERY Q0 {d} {rank} {-score!r} made\n" for rank, (d, score) in places)
    path, names = folder / "run.trec", [f"q{number}" for number in range(queries)]
    path.write_text("".join(lines.replace("QUERY", name) for name in names))
    hits = random.integers(depth, size=queries).tolist()
    unseen = {f"{10 * depth + grade}": grade for grade in range(2)}
    return path, {q: {f"{documents[hit]}": 2, **unseen} for q, hit in zip(names, hits, strict=True)}


def scored(path, qrels):
    return score(read_run(path), qrels, MEASURES, ignore_identical_ids=False)


def test_reading_and_scoring_take_a_fraction_of_an_object_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(run_columns, "BLOCK", 1 << 20)
    (tmp_path / "small").mkdir()
    scored(*made(tmp_path / "small", 2, 2))  # what is imported is there before the memory is looked at
    path, qrels = made(tmp_path, 800, 1000)
    grown = peak_growth(lambda: scored(path, qrels))
    assert grown < 140 * 800_000  # bytes; as an object each, a line takes over 300


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_rankings_do_not_depend_on_the_blocks_that_they_are_read_in(tmp_path, monkeypatch, block, pack):
    path, _ = made(tmp_path, 3, 20)
    whole = read_fast(path)
    path.write_bytes(pack(path.read_bytes()))
    monkeypatch.setattr(run_columns, "BLOCK", block)
    assert read_fast(path) == whole
    assert [len(ranking) for ranking in whole.rankings.values()] == [20, 20, 20]


@pytest.mark.parametrize("queries", [1, 3, 10_000])
def test_scores_do_not_depend_on_how_many_queries_are_scored_at_a_time(tmp_path, monkeypatch, queries):
    path, qrels = made(tmp_path, 7, 30)
    qrels |= {"missing": {"1": 1}, "a missing one": {"2": 2}}
    whole = scored(path, qrels)
    monkeypatch.setattr(measures, "QUERIES", queries)
    assert scored(path, qrels) == whole
    assert whole.missing == ["a missing one", "missing"]


def test_a_ranking_of_columns_is_read_as_the_list_of_its_pairs(tmp_path):
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n1 Q0 c 3 1.0 t\n")
    pairs = [("a", 2.0), ("c", 1.0), ("b", 1.0)]
    ranking = read_fast(path).rankings["1"]
    assert ranking == pairs
    assert pairs == ranking
    assert ranking != pairs[:2]
    assert (list(ranking), ranking[1:], ranking[-1], len(ranking)) == (pairs, pairs[1:], pairs[-1], 3)
    assert repr(ranking) == repr(pairs)
    with pytest.raises(IndexError):
        ranking[3]
