import gzip
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from repro.errors import DataError
from repro.retrieval.evaluation import measures, runs
from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_fast, read_lines, read_run
from tests.bounded_memory import peak_growth


@pytest.mark.parametrize("first_rank", [0, 1])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ranks_decide_nothing_and_may_begin_at_0_or_1(tmp_path, first_rank, pack):
    lines = [("b", 1.0), ("a", 2.0), ("c", 1.0)]
    text = "".join(f"1 Q0 {d} {rank} {s} any\n" for rank, (d, s) in enumerate(lines, first_rank))
    (tmp_path / "run").write_bytes(pack(text.encode()))
    assert read_run(tmp_path / "run") == {"1": [("a", 2.0), ("c", 1.0), ("b", 1.0)]}


def test_scattered_queries_mixed_tags_and_tabs_are_read(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 1 2 x\n2\tQ0\ta\t1\t3\ty\n1 Q0 b 2 1e-3 z")
    assert read_run(tmp_path / "run") == {"1": [("a", 2.0), ("b", 0.001)], "2": [("a", 3.0)]}


def test_the_largest_float32_is_a_score(tmp_path):
    largest = float(np.finfo(np.float32).max)
    (tmp_path / "run").write_text(f"1 Q0 a 1 {largest!r} x\n1 Q0 b 2 {-largest!r} x\n")
    assert read_run(tmp_path / "run") == {"1": [("a", largest), ("b", -largest)]}


WORDS = st.sampled_from(
    ["q1", "d1", "d\u00e9", "1", "02", "0.5", "-1e-3", "1e39", "nan", "inf", "1_0", "+1", ".5", "0x1", ""]
)
SPACES = st.sampled_from([" ", " ", " ", " ", "  ", "\t", "\u00a0"])
NEARLY = st.tuples(st.sampled_from(["q1", "q2"]), WORDS, WORDS, WORDS, WORDS, WORDS, SPACES).map(
    lambda parts: parts[-1].join(parts[:-1])
)
SOUND = st.tuples(
    st.sampled_from(["q1", "q2"]),
    st.just("Q0"),
    st.integers(0, 30).map(str),
    st.integers(0, 9).map(str),
    st.floats(-1e38, 1e38).map(repr),
    st.just("tag"),
).map(" ".join)
LINES = st.lists(st.one_of(SOUND, SOUND, SOUND, NEARLY), max_size=6)
TABBED = st.tuples(
    st.sampled_from(["q1", "q2"]), st.integers(0, 30).map(str), st.integers(0, 9).map(str)
).map("\t".join)
MS_MARCO = st.lists(st.one_of(TABBED, TABBED, TABBED, NEARLY), max_size=6)
FILES = st.tuples(LINES | MS_MARCO, st.sampled_from(["\n", "\n", "\r\n"]))
QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(made=FILES, last=st.booleans(), packed=st.booleans(), block=st.sampled_from([1, 9, 60, 1 << 20]))
@example(made=(["q1\t0\t3", "q2\t0\t4"], "\n"), last=False, packed=False, block=1)
@example(made=(["q1\t0\t5", "q1\t1\t3", "q1\t2\t4"], "\n"), last=False, packed=False, block=60)
def test_whatever_is_read_fast_is_read_the_same_line_by_line(tmp_path, made, last, packed, block):
    lines, end = made
    text = (end.join(lines) + end * last).encode()
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(text) if packed else text)
    with mock.patch.object(runs, "BLOCK", block):
        fast = read_fast(path)
    if fast is not None:
        slow = read_lines(path)
        assert fast == slow and list(fast.rankings) == list(slow.rankings)


@pytest.mark.parametrize("packed", [False, True])
def test_what_the_suite_writes_is_read_fast(tmp_path, packed):
    write_run(tmp_path, {"b": [("d1", 0.1), ("d2", 7.0)], "a": [("d1", -3.5e-9)]}, "tag")
    path = tmp_path / "run.trec"
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_fast(path) == read_lines(path)
    assert list(read_fast(path).rankings) == ["b", "a"]


@pytest.mark.parametrize("content", ["1\ta\t1\n1\tb\t2\n2\ta\t1\n", "1\tb\t2\n1\ta\t0\n", "1\ta\t1\n1\tb\t2"])
def test_ranks_of_ms_marco_are_read_fast(tmp_path, content):
    path = tmp_path / "run"
    path.write_text(content)
    assert read_fast(path) == read_lines(path)
    assert read_run(path)["1"] == sorted(read_run(path)["1"])
    path.write_text(content.replace("b", "a"))
    assert read_fast(path) is None
    path.write_text(content.replace("b\t2", "b\t1").replace("a\t0", "a\t1"))
    assert read_fast(path) is None


def test_a_query_whose_lines_stand_apart_is_left_to_the_reader_of_lines(tmp_path):
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 2.0 t\n2 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    assert read_fast(path) is None
    assert read_run(path) == {"1": [("a", 2.0), ("b", 1.0)], "2": [("a", 2.0)]}
    path.write_text("1 Q0 a 1 2.0 t\n2 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    with pytest.raises(DataError, match="listed twice"):
        read_run(path)


@pytest.mark.parametrize(
    "line", ["1 Q0 a 1 nan t", "1 Q0 a x 1 t", "1 Q0 a 1 1", "1  Q0 a 1 1 t", "", "1 Q0 a 1 1e39 t"]
)
def test_what_is_unusual_is_left_to_the_reader_of_lines(tmp_path, line):
    path = tmp_path / "run"
    path.write_text(f"1 Q0 b 1 3.0 t\n{line}\n")
    assert read_fast(path) is None


MEASURES = ["RR@10", "nDCG@10", "R(rel=2)@50", "R@1000"]


def made(folder, queries, depth):
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
    monkeypatch.setattr(runs, "BLOCK", 1 << 20)
    (tmp_path / "small").mkdir()
    scored(*made(tmp_path / "small", 2, 2))
    path, qrels = made(tmp_path, 400, 1000)
    grown = peak_growth(lambda: scored(path, qrels))
    assert grown < 150 * 400_000  # bytes; as an object each, a line takes over 300


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_rankings_do_not_depend_on_the_blocks_that_they_are_read_in(tmp_path, monkeypatch, block, pack):
    path, _ = made(tmp_path, 3, 20)
    whole = read_fast(path)
    path.write_bytes(pack(path.read_bytes()))
    monkeypatch.setattr(runs, "BLOCK", block)
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
    with pytest.raises(IndexError):
        ranking[3]
