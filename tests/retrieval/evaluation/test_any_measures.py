import gzip

import ir_measures
import pytest
import pytrec_eval

from repro.errors import DataError, UsageError
from repro.retrieval.evaluation.judged_runs import read_given
from repro.retrieval.evaluation.measures import canonical, looks_deeper, scores_by_query
from repro.retrieval.evaluation.text_lines import read_qrels

QRELS = {"1": {"a": 3, "b": 1, "c": 0, "d": 1}, "2": {"a": 1, "e": -1}, "3": {"a": 1}}
RANKINGS = {
    "1": [("x", 5.0), ("b", 4.0), ("c", 3.0), ("a", 2.0)],
    "2": [("e", 1.0), ("a", 0.5)],
    "9": [("a", 1.0)],
}
TREC_EVAL = {
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "map": "AP",
    "map_cut_100": "AP@100",
    "recip_rank": "RR",
    "recall_1000": "R@1000",
    "P_10": "P@10",
    "success_5": "Success@5",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "set_P": "SetP",
    "set_recall": "SetR",
    "num_rel_ret": "NumRet(rel=1)",
}
OTHER_NAMES = {
    "MRR@10": "RR@10",
    "NDCG@10": "nDCG@10",
    "ndcg_at_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "Recall@100": "R@100",
    "hit_rate@5": "Success@5",
    "ndcg_burges@10": "nDCG(dcg='exp-log2')@10",
    "iprec_at_recall_0.10": "IPrec@0.1",
    "R(rel=2)@1000": "R(rel=2)@1000",
    "recall_cap@100": "R_cap@100",
}
SETTINGS = ["AP(rel=2)@100", "nDCG(judged_only=True)@10", "P(judged_only=True)@10", "RR(rel=2)", "Judged@10"]
SETTINGS += ["SetF(beta=0.5)", "IPrec@0.1", "ERR@20", "nDCG(dcg='exp-log2')@10", "RR(rel=2)@10"]


@pytest.mark.parametrize(("name", "as_ir_measures"), [*TREC_EVAL.items(), *OTHER_NAMES.items()])
def test_a_measure_is_known_by_the_names_that_others_give_it(name, as_ir_measures):
    assert canonical(name) == canonical(as_ir_measures) == as_ir_measures


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MRRR@10", "'MRRR@10' is not a known measure. Did you mean RR@10? Known: RR@10, nDCG@10"),
        ("P", "'P' is not a known measure"),
        ("P@0", "'P@0' is not a known measure"),
        ("P@10.5", "'P@10.5' is not a known measure"),
        ("nDCG(rel=2)@10", "'nDCG(rel=2)@10' is not a known measure"),
        ("", "'' is not a known measure"),
        ("RBP@10", "RBP@10 is a measure of ir_measures, but no installed package computes it"),
    ],
)
def test_a_measure_that_nothing_computes_is_refused_in_a_sentence(name, words):
    with pytest.raises(UsageError) as caught:
        canonical(name)
    assert str(caught.value).startswith(words)


def test_a_measure_without_a_cut_off_looks_no_deeper_than_any_run():
    deep = [name for name in ("AP", "SetP", "P@10", "map_cut_11", "R_cap@100") if looks_deeper(name, 10)]
    assert deep == ["map_cut_11", "R_cap@100"]


def test_a_cutoff_beyond_trec_evals_range_is_refused():
    with pytest.raises(UsageError, match="cannot compute nDCG@"):
        scores_by_query([f"nDCG@{10**20}"], QRELS, RANKINGS)


def test_every_judged_query_is_scored_and_no_other():
    found = scores_by_query(["nDCG@10", "P@2", "R_cap@2", "Judged@10"], QRELS, RANKINGS)
    assert {frozenset(scores) for scores in found.values()} == {frozenset("123")}
    assert found["P@2"] == {"1": 0.5, "2": 0.5, "3": 0.0}
    assert found["R_cap@2"] == {"1": 0.5, "2": 1.0, "3": 0.0}
    assert found["Judged@10"] == {"1": 0.75, "2": 1.0, "3": 0.0}


def test_judged_only_and_exponential_gain_are_those_measures_of_other_rankings_and_grades():
    judged = {q: [(d, s) for d, s in ranking if d in QRELS.get(q, {})] for q, ranking in RANKINGS.items()}
    gains = {q: {d: 2 ** max(grade, 0) - 1 for d, grade in grades.items()} for q, grades in QRELS.items()}
    for setting, rankings, qrels in (
        ("judged_only=True", judged, QRELS),
        ("dcg='exp-log2'", RANKINGS, gains),
    ):
        [found] = scores_by_query([f"nDCG({setting})@10"], QRELS, RANKINGS).values()
        assert found == scores_by_query(["nDCG@10"], qrels, rankings)["nDCG@10"]
    assert scores_by_query(["RR(judged_only=True)@10"], QRELS, RANKINGS) == {
        "RR(judged_only=True)@10": {"1": 1.0, "2": 0.5, "3": 0.0}
    }


@pytest.mark.parametrize(
    ("names", "qrels", "rankings", "words"),
    [
        (["AP(rel=4)"], QRELS, RANKINGS, "grade 4 and above as relevant, and the highest grade of these"),
        (["R_cap(rel=4)@9"], QRELS, RANKINGS, "counts grade 4 and above"),
        (["AP"], {"1": {"a": 0}}, RANKINGS, "none of the 1 judgements has a grade above 0"),
        (["AP"], QRELS, {"9": [("a", 1.0)]}, "none of the run's 1 queries is among the 3 judged ones"),
        (["nDCG(dcg='exp-log2')@10"], {"1": {"a": 99}}, RANKINGS, "grade 99 is too large for an exponential"),
    ],
)
def test_what_would_score_nothing_is_refused(names, qrels, rankings, words):
    with pytest.raises(DataError, match=words):
        scores_by_query(names, qrels, rankings)


@pytest.mark.parametrize(
    "file", ["ance.dl19-passage.top1000.trec.gz", "bm25-pyterrier.dl20-passage.top1000.trec.gz"]
)
def test_scores_of_a_public_run_are_those_of_trec_eval_and_ir_measures(real_data, file):
    path = real_data / "runs" / file
    qrels = read_qrels(real_data / "qrels" / f"qrels.{file.split('.')[1]}.txt")
    rankings = read_given(path, qrels, ignore_identical_ids=False).rankings
    with gzip.open(path, "rt") as lines:
        run = pytrec_eval.parse_run(lines)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {*TREC_EVAL}).evaluate(run)
    for name, scores in scores_by_query([*TREC_EVAL], qrels, rankings).items():
        assert scores == {query: theirs[query][name] for query in qrels}
    short = {query: ranking[:150] for query, ranking in rankings.items()}
    untied = {q: {d: -place for place, (d, _) in enumerate(ranking)} for q, ranking in short.items()}
    for name, scores in scores_by_query(SETTINGS, qrels, short).items():
        found = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, untied)
        values = dict.fromkeys(qrels, 0.0) | {metric.query_id: metric.value for metric in found}
        digits = 6 if "exp" in name else 15
        assert scores == pytest.approx(values, abs=10 ** (1 - digits))


def test_capped_recall_is_beirs():
    from beir.retrieval.custom_metrics import recall_cap

    run = {query: dict(ranking) for query, ranking in RANKINGS.items() if query in QRELS}
    for k in (1, 2, 100):
        [scores] = scores_by_query([f"R_cap@{k}"], QRELS, RANKINGS).values()
        assert round(sum(scores.values()) / 3, 5) == recall_cap(QRELS, run, [k])[f"R_cap@{k}"]
