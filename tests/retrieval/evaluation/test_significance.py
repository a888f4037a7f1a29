import numpy as np
import pytest

from repro.errors import UsageError
from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.evaluation.significance import compare, compare_scores, smallest_p
from repro.retrieval.evaluation.text_lines import read_qrels
from tests.floats import close

MEASURES = ["RR@10", "nDCG@10", "R@20", "R(rel=2)@20", "Success@5"]


def systems(count: int, *, queries: int = 25, documents: int = 50):
    random = np.random.default_rng(count)
    qrels = {
        f"q{q}": {f"d{d}": int(random.integers(-1, 4)) for d in random.choice(documents, 12, replace=False)}
        for q in range(queries)
    }
    runs = []
    for _ in range(count):
        run = {}
        for q in random.choice(queries, queries - 2, replace=False):
            found = random.choice(documents, 30, replace=False)
            run[f"q{q}"] = [(f"d{d}", 30.0 - i) for i, d in enumerate(found)]
        run["unjudged"] = [("d1", 1.0)]
        runs.append(run)
    return qrels, runs


IN_RANX = dict(zip(MEASURES, ["mrr@10", "ndcg@10", "recall@20", "recall@20-l2", "hit_rate@5"], strict=True))


@pytest.mark.nightly
def test_what_ranx_reports_of_the_runs_is_what_its_test_says_of_our_scores():
    import ranx

    qrels, runs = systems(3)
    mine = compare(runs, list("abc"), qrels, MEASURES)["measures"]
    judged = ranx.Qrels.from_dict(qrels)
    theirs = [
        ranx.Run.from_dict({q: dict(r) for q, r in run.items()}, name=str(i)) for i, run in enumerate(runs)
    ]
    metrics = list(IN_RANX.values())
    report = ranx.compare(judged, theirs, metrics, max_p=0.05, make_comparable=True).to_dict()
    for measure, metric in IN_RANX.items():
        for i in range(3):
            of_run = report[str(i)]
            close(mine[measure]["means"][i], of_run["scores"][metric])
            for j in {0, 1, 2} - {i}:
                close(mine[measure]["p"][i][j], of_run["comparisons"][str(j)][metric])
                outcomes = {key[0].upper(): mine[measure][key][i][j] for key in ("wins", "ties", "losses")}
                assert outcomes == of_run["win_tie_loss"][str(j)][metric]


def test_p_values_are_those_of_scipy_on_our_own_scores():
    from scipy.stats import ttest_rel

    qrels, runs = systems(4)
    result = compare(runs, list("abcd"), qrels, MEASURES)
    assert result["test"] == "student"
    assert result["max_p"] == 0.05
    scores = [score(run, qrels, MEASURES, ignore_identical_ids=False).measures for run in runs]
    for measure in MEASURES:
        found = result["measures"][measure]
        assert found["names"] == list("abcd")
        assert found["identical"] == []
        for i in range(4):
            close(found["means"][i], np.mean(scores[i][measure]))
            for j in range(4):
                if i == j:
                    assert found["p"][i][j] is found["wins"][i][j] is None
                    continue
                ours, other = np.array(scores[i][measure]), np.array(scores[j][measure])
                close(found["p"][i][j], ttest_rel(ours, other).pvalue)
                outcomes = [found[key][i][j] for key in ("wins", "ties", "losses")]
                assert outcomes == [(ours > other).sum(), (ours == other).sum(), (ours < other).sum()]


def test_identical_runs_have_p_one_and_are_flagged():
    qrels, (run, other) = systems(2)
    found = compare([run, other, run], ["a", "b", "again"], qrels, ["RR@10"])["measures"]["RR@10"]
    assert found["p"][0][2] == found["p"][2][0] == 1.0
    assert found["identical"] == [[0, 2]]
    assert found["ties"][0][2] == len(qrels)
    assert found["p"][0][1] == found["p"][2][1] != 1.0


def test_runs_that_differ_below_the_cut_off_only_are_identical_there():
    qrels = {f"{q}": {f"d{d}": d % 4 for d in range(60)} for q in range(20)}
    deep = {q: [(f"d{(7 * i + int(q)) % 60}", 60.0 - i) for i in range(60)] for q in qrels}
    shallow = {q: deep[q][: 10 + int(q)] for q in qrels}
    found = compare([deep, shallow], ["deep", "shallow"], qrels, ["nDCG@10", "R@50"])["measures"]
    assert found["nDCG@10"]["identical"] == [[0, 1]]
    assert found["R@50"]["identical"] == []


def test_more_runs_than_the_alphabet_has_letters_are_compared():
    qrels, runs = systems(30, queries=10)
    found = compare(runs, [f"s{i}" for i in range(30)], qrels, ["RR@10"])["measures"]["RR@10"]
    p = np.array([[1.0 if x is None else x for x in row] for row in found["p"]])
    assert p.shape == (30, 30)
    assert (p == p.T).all()
    assert ((p > 0) & (p <= 1)).all()
    values = [x for row in found["permutation_p"] for x in row if x is not None]
    assert found["exact"] is True and len(values) == 30 * 29 and all(1 / 1024 <= x <= 1 for x in values)


def test_a_single_run_is_compared_with_nothing():
    qrels, runs = systems(1)
    found = compare(runs, ["a"], qrels, ["RR@10"])["measures"]["RR@10"]
    assert found["p"] == found["wins"] == [[None]]
    assert len(found["means"]) == 1


def test_a_document_named_like_its_query_is_dropped_only_when_asked():
    runs = [{"x": [("x", 9.0), ("a", 1.0)], "y": [("a", 1.0)]}] * 2
    qrels = {"x": {"a": 1}, "y": {"a": 1}}
    for ignore, mean in ((False, 0.75), (True, 1.0)):
        result = compare(runs, ["a", "b"], qrels, ["RR@10"], ignore_identical_ids=ignore)
        assert result["measures"]["RR@10"]["means"] == [mean, mean]


def test_an_unknown_measure_is_refused_before_a_run_is_read():
    with pytest.raises(UsageError, match="'MAP' is not a known measure"):
        compare((pytest.fail("was read") for _ in "a"), ["a"], {"1": {"a": 1}}, ["MAP"])


def test_public_runs_differ_as_scipy_says(real_data):
    from scipy.stats import ttest_rel

    qrels = read_qrels(real_data / "qrels" / "qrels.dl19-passage.txt")
    names = ["ance", "bm25-pyterrier"]
    runs = [read_run(real_data / "runs" / f"{name}.dl19-passage.top1000.trec.gz") for name in names]
    measures = ["nDCG@10", "R(rel=2)@1000", "RR(rel=2)@10"]
    result = compare(runs, names, qrels, measures)["measures"]
    first, second = (score(run, qrels, measures, ignore_identical_ids=False).measures for run in runs)
    for measure in measures:
        assert result[measure]["p"][0][1] == pytest.approx(ttest_rel(first[measure], second[measure]).pvalue)
    assert result["nDCG@10"]["p"][0][1] < 0.05
    assert round(result["nDCG@10"]["means"][0], 4) == 0.6537


@pytest.mark.parametrize("difference", [0.5, 0.1, 1 / 3])
def test_a_difference_that_is_the_same_on_all_queries_has_no_t(difference):
    low = np.array([0.1, 0.2, 0.3])
    found = compare_scores([{"RR": low + difference}, {"RR": low}], ["a", "b"], ["1", "2", "3"], ["RR"])
    table = found["measures"]["RR"]
    for key in ("p", "holm_student_p", "effect_size"):
        assert table[key] == [[None, None], [None, None]]
    assert table["permutation_p"][0][1] == smallest_p(3) == 0.25
