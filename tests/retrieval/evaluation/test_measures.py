import math
import subprocess
import sys

import numpy as np
import pytest

from repro.errors import DataError, UsageError
from repro.retrieval.evaluation import measures
from repro.retrieval.evaluation.measures import Measure, by_rank, coverage, parse_measure, score
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.evaluation.text_lines import read_qrels
from tests.floats import close


def collection(seed: int, queries: int = 30, documents: int = 60):
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(queries):
        judged = random.choice(documents, 15, replace=False)
        qrels[f"{q}"] = {f"d{d}": int(g) for d, g in zip(judged, random.integers(0, 4, 15), strict=True)}
        found = random.choice(documents, random.integers(1, 40), replace=False)
        tied = random.integers(0, 6, len(found))
        run[f"{q}"] = [(f"d{d}", float(s)) for d, s in zip(found, tied, strict=True)]
    for q in random.choice(queries, 4, replace=False):
        del run[f"{q}"]
    run["unjudged"] = [("d1", 1.0)]
    return qrels, run


def as_written(tmp_path, run):
    write_run(tmp_path, run, "tag")
    return read_run(tmp_path / "run.trec")


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("RR@10", Measure("RR", 10, 1)),
        ("nDCG@10", Measure("nDCG", 10, 1)),
        ("R@1000", Measure("R", 1000, 1)),
        ("R(rel=2)@1000", Measure("R", 1000, 2)),
        ("Success@20", Measure("Success", 20, 1)),
        ("P(rel=2)@10", Measure("P", 10, 2)),
    ],
)
def test_names_are_read_and_printed_as_ir_measures_does(text, measure):
    import ir_measures

    assert parse_measure(text) == measure
    assert str(measure) == text == str(ir_measures.parse_measure(text))


@pytest.mark.parametrize(
    "text",
    ["MRR@10", "RR", "RR@0", "RR@010", "nDCG(rel=2)@10", "R(rel=0)@10", "ndcg@10", "R @10", "", "R@10\n"],
)
def test_an_unknown_measure_is_told_the_known_ones(text):
    with pytest.raises(UsageError, match=r"is not a known measure.* Known: RR@10, nDCG@10, R@1000, .*, P@10"):
        parse_measure(text)


def test_checking_names_imports_no_scorer():
    heavy = {"numpy", "ir_measures", "pytrec_eval", "ranx", "pandas", "scipy", "torch", "datasets", "regex"}
    code = (
        "import sys\n"
        "import repro.verdicts.verdict, repro.retrieval.evaluation.measures as measures\n"
        f"measures.parse_measure('RR@10'); print({heavy} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def ndcg_as_loops(ranking, judged, cutoff):
    found = 0.0
    for rank, document in enumerate(ranking[:cutoff], start=1):
        found += max(judged.get(document, 0), 0) / math.log2(rank + 1)
    best = 0.0
    for rank, grade in enumerate(sorted(judged.values(), reverse=True)[:cutoff], start=1):
        best += max(grade, 0) / math.log2(rank + 1)
    return found / best if best else 0.0


def reciprocal_rank_as_loops(ranking, judged, cutoff, level):
    for rank, document in enumerate(ranking[:cutoff], start=1):
        if judged.get(document, 0) >= level:
            return 1 / rank
    return 0.0


@pytest.mark.parametrize("seed", range(4))
def test_reciprocal_rank_and_ndcg_equal_their_definitions_as_loops(tmp_path, seed):
    qrels, run = collection(seed)
    for judged in list(qrels.values())[:5]:
        judged.update({"d1": -1, "d2": -2})  # negative grades are judged not relevant
    ranking = as_written(tmp_path, run)
    scores = score(ranking, qrels, ["RR@10", "RR(rel=3)@3", "nDCG@10"], ignore_identical_ids=False)
    for i, q in enumerate(scores.queries):
        documents = [d for d, _ in ranking.get(q, [])]
        assert scores.measures["RR@10"][i] == reciprocal_rank_as_loops(documents, qrels[q], 10, 1)
        assert scores.measures["RR(rel=3)@3"][i] == reciprocal_rank_as_loops(documents, qrels[q], 3, 3)
        ndcg = ndcg_as_loops(documents, qrels[q], 10)
        close(scores.measures["nDCG@10"][i], ndcg)


def test_missing_queries_score_zero_and_are_listed_and_unjudged_ones_are_counted(tmp_path):
    qrels, run = collection(0)
    scores = score(as_written(tmp_path, run), qrels, ["RR@10"], ignore_identical_ids=False)
    assert scores.queries == sorted(qrels)
    assert scores.missing == sorted(qrels.keys() - run.keys())
    assert (len(scores.missing), scores.ignored) == (4, 1)
    at = dict(zip(scores.queries, scores.measures["RR@10"], strict=True))
    assert all(at[q] == 0 for q in scores.missing)
    assert scores.means["RR@10"] == pytest.approx(sum(at.values()) / len(qrels))


def test_a_query_without_relevant_documents_stays_and_scores_zero():
    qrels = {"1": {"a": 0}, "2": {"a": 1}}
    run = {"1": [("a", 1.0)], "2": [("a", 1.0)]}
    scores = score(run, qrels, ["RR@10", "nDCG@10", "R@10"], ignore_identical_ids=False)
    assert list(scores.measures.values()) == [[0.0, 1.0]] * 3
    assert scores.missing == []


def test_a_document_named_like_its_query_is_dropped_only_when_asked():
    run = {"x": [("x", 9.0), ("a", 1.0)], "y": [("y", 9.0)]}
    qrels = {"x": {"a": 1}, "y": {"a": 1}}
    kept = score(run, qrels, ["RR@10", "nDCG@10"], ignore_identical_ids=False)
    dropped = score(run, qrels, ["RR@10", "nDCG@10"], ignore_identical_ids=True)
    assert kept.measures["RR@10"] == [0.5, 0.0]
    assert dropped.measures["RR@10"] == dropped.measures["nDCG@10"] == [1.0, 0.0]
    assert dropped.missing == []  # y was answered, with nothing but itself


@pytest.mark.parametrize(("run", "qrels"), [({"1": []}, {"2": {}}), ({}, {"2": {}}), ({"1": []}, {})])
def test_a_run_of_other_queries_is_an_error_and_not_a_zero(run, qrels):
    with pytest.raises(DataError, match="judge"):
        coverage(run, qrels)


def test_ranks_become_falling_whole_numbers():
    assert by_rank(["a", "b", "c"]) == {"a": 3.0, "b": 2.0, "c": 1.0}


@pytest.mark.parametrize(
    ("name", "year", "ndcg"),
    [
        ("bm25-anserini", "19", 0.5058),
        ("bm25-anserini", "20", 0.4796),
        ("bm25-pyterrier", "19", 0.4795),
        ("bm25-pyterrier", "20", 0.4936),
        ("ance", "19", 0.6537),
        ("ance", "20", 0.6447),
        ("deepct", "19", 0.5599),
        ("deepct", "20", 0.5603),
        ("doct5query", "19", 0.6308),
        ("doct5query", "20", 0.6228),
    ],
)
def test_public_runs_score_what_is_published_of_them(real_data, tmp_path, name, year, ndcg):
    qrels = read_qrels(real_data / "qrels" / f"qrels.dl{year}-passage.txt")
    run = read_run(next((real_data / "runs").glob(f"{name}.dl{year}-passage.*")))
    scores = score(run, qrels, ["nDCG@10"], ignore_identical_ids=False)
    assert round(scores.means["nDCG@10"], 4) == ndcg
    assert scores == score(as_written(tmp_path, run), qrels, ["nDCG@10"], ignore_identical_ids=False)


def test_a_grade_below_zero_never_reaches_the_counter_that_would_write_outside_its_array(monkeypatch):
    counted, count = [], measures._trec_scores
    monkeypatch.setattr(measures, "_trec_scores", lambda *given: counted.append(given[1]) or count(*given))
    score(
        {"q": [("d1", 2.0), ("d2", 1.0)]}, {"q": {"d1": -2, "d2": 1}}, ["nDCG@10"], ignore_identical_ids=False
    )
    assert counted == [{"q": {"d1": 0, "d2": 1}}]


def test_a_mean_has_the_bits_of_a_sum_from_left_to_right_in_every_python(monkeypatch):
    monkeypatch.setattr(measures, "sum", math.fsum, raising=False)  # Python's own sums so since 3.12
    scores = [0.1] * 10
    found = measures.Scores([f"{n}" for n in range(10)], {"RR@10": scores}, [], 0).means
    assert found == {"RR@10": 0.09999999999999999} and math.fsum(scores) / 10 == 0.1


def test_a_measure_that_no_provider_can_compute_is_refused(monkeypatch):
    import ir_measures

    def fail(*_):
        raise KeyError("rel")

    monkeypatch.setattr(ir_measures, "iter_calc", fail)
    with pytest.raises(UsageError, match=r"cannot compute ERR@20 here \(KeyError: 'rel'\)"):
        measures._scores_of_block("ERR@20", {"q": {"a": 1}}, {"q": ["a"]})
