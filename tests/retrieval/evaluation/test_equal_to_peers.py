import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run

DOCUMENTS = [f"d{i}" for i in range(12)]
QUERIES = [f"q{i}" for i in range(5)]
# few values, so that most rankings have ties; all are float32, as a run file's are read by trec_eval
RUNS = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([-1.5, 0.0, 0.25, 1.0, 2.0]), min_size=1),
    min_size=1,
)
QRELS = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1),
    min_size=1,
)
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TREC_NAMES = {
    "nDCG@3": ("ndcg_cut_3", 1),
    "nDCG@10": ("ndcg_cut_10", 1),
    "R@5": ("recall_5", 1),
    "R@1000": ("recall_1000", 1),
    "R(rel=2)@5": ("recall_5", 2),
    "Success@1": ("success_1", 1),
    "Success(rel=2)@5": ("success_5", 2),
}


def shared(run, qrels) -> bool:
    return bool(run.keys() & qrels.keys())


def read_back(tmp_path, run):
    write_run(tmp_path, {qid: list(documents.items()) for qid, documents in run.items()}, "tag")
    return read_run(tmp_path / "run.trec")


@QUICK
@given(run=RUNS, qrels=QRELS)
def test_every_measure_is_pytrec_evals_whatever_ties_there_are(tmp_path, run, qrels):
    import pytrec_eval

    if not shared(run, qrels):
        return
    found = score(read_back(tmp_path, run), qrels, list(TREC_NAMES), ignore_identical_ids=False)
    assert found.queries == sorted(qrels)
    assert found.missing == sorted(qrels.keys() - run.keys())
    assert found.ignored == len(run.keys() - qrels.keys())
    for text, (name, level) in TREC_NAMES.items():
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=level).evaluate(run)
        assert found.measures[text] == [theirs.get(qid, {}).get(name, 0.0) for qid in found.queries]


@QUICK
@given(run=RUNS, qrels=QRELS, cutoff=st.integers(1, 12))
def test_reciprocal_rank_is_trec_evals_where_the_hit_is_within_the_cut_off(tmp_path, run, qrels, cutoff):
    import pytrec_eval

    if not shared(run, qrels):
        return
    found = score(read_back(tmp_path, run), qrels, [f"RR@{cutoff}"], ignore_identical_ids=False)
    whole = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    for qid, ours in zip(found.queries, found.measures[f"RR@{cutoff}"], strict=True):
        theirs = whole.get(qid, {}).get("recip_rank", 0.0)
        # to trec_eval's single precision: it is the uncut value, or nothing beyond the cut-off
        assert ours == pytest.approx(theirs if theirs >= 1 / cutoff - 1e-6 else 0.0, abs=1e-6)


@settings(QUICK, max_examples=40)
@given(run=RUNS, qrels=QRELS, same=st.booleans())
def test_beirs_rule_on_identical_ids_is_beirs(tmp_path, run, qrels, same):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = pytest.importorskip("beir.retrieval.evaluation")
    # documents that are called like queries, retrieved and judged
    run = {q: {**d, q: 1.75} if same else d for q, d in run.items()}
    qrels = {q: {**d, q: 1} if same and q == "q1" else d for q, d in qrels.items()}
    if not shared(run, qrels):
        return
    found = score(read_back(tmp_path, run), qrels, ["nDCG@3", "R@5"], ignore_identical_ids=True)
    copy = {q: dict(documents) for q, documents in run.items()}
    ndcg, _map, recall, _precision = evaluation.EvaluateRetrieval.evaluate(qrels, copy, [3, 5])
    answered = [i for i, q in enumerate(found.queries) if copy.get(q)]  # BEIR emptied the others
    for text, theirs in (("nDCG@3", ndcg["NDCG@3"]), ("R@5", recall["Recall@5"])):
        total = sum(found.measures[text][i] for i in answered)
        assert total / max(1, len(answered)) == pytest.approx(theirs, abs=1e-5)
