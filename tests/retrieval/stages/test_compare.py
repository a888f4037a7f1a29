import json

import pytest

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.stages import compare
from tests.retrieval.stages import outputs

QRELS = {f"q{i:02d}": f"d{i}" for i in range(12)}


@pytest.fixture
def inputs(tmp_path):
    """Twelve queries with one relevant document each; three systems that rank it at different places."""
    qrels = tmp_path / "qrels"
    qrels.mkdir()
    (qrels / "qrels.trec").write_text("".join(f"{q} 0 {d} 1\n" for q, d in QRELS.items()))
    runs = []
    for system in range(3):
        folder = tmp_path / f"run{system}"
        folder.mkdir()
        place = {q: (i * (system + 2)) % 7 for i, q in enumerate(QRELS) if (i, system) != (3, 1)}
        run = {q: [(QRELS[q] if i == at else f"n{i}", 9.0 - i) for i in range(8)] for q, at in place.items()}
        write_run(folder, run, "tag")
        runs.append(folder)
    return {"runs": runs, "qrels": qrels}


def test_pairwise_tests_lie_in_the_order_of_the_names(inputs, tmp_path):
    from scipy.stats import ttest_rel

    params = {"measures": ["RR@10", "R@5"], "names": ["a", "b", "c"]}
    facts = compare.run(params, inputs, tmp_path, Progress())
    assert facts == {"queries": 12, "runs": 3, "missing": [0, 1, 0]}
    result = json.loads((tmp_path / "significance.json").read_text())
    assert (result["test"], result["max_p"]) == ("student", 0.05)
    assert list(result["measures"]) == ["RR@10", "R@5"]
    found = result["measures"]["RR@10"]
    assert found["names"] == ["a", "b", "c"]
    scores = [[1 / (1 + (i * (s + 2)) % 7) * ((i, s) != (3, 1)) for i in range(12)] for s in range(3)]
    assert found["means"] == [pytest.approx(sum(row) / 12) for row in scores]
    assert found["p"][0][1] == found["p"][1][0] == pytest.approx(ttest_rel(scores[0], scores[1]).pvalue)
    assert [found["p"][i][i] for i in range(3)] == [None] * 3
    for i, j in ((0, 1), (2, 0)):
        counted = [found[key][i][j] for key in ("wins", "ties", "losses")]
        assert sum(counted) == 12
        assert counted == [found[key][j][i] for key in ("losses", "ties", "wins")]


def test_the_output_is_the_recorded_one_as_long_as_the_version_is(inputs, tmp_path, renewing):
    out = tmp_path / "out"
    out.mkdir()
    facts = compare.run({"measures": ["RR@10", "nDCG@10"], "names": ["a", "b", "c"]}, inputs, out, Progress())
    outputs.check("compare", out, facts, renew=renewing)


def test_one_stored_run_under_two_names_is_identical_to_itself(inputs, tmp_path):
    twice = {**inputs, "runs": [inputs["runs"][0]] * 2}
    compare.run({"measures": ["RR@10"], "names": ["a", "b"]}, twice, tmp_path, Progress())
    found = json.loads((tmp_path / "significance.json").read_text())["measures"]["RR@10"]
    assert found["p"] == [[None, 1.0], [1.0, None]]
    assert found["identical"] == [[0, 1]]


def test_a_run_of_other_queries_is_refused(inputs, tmp_path):
    write_run(inputs["runs"][1], {"elsewhere": [("d1", 1.0)]}, "tag")
    with pytest.raises(DataError, match="none of the run's 1 queries is among the 12 judged ones"):
        compare.run({"measures": ["RR@10"], "names": list("abc")}, inputs, tmp_path, Progress())


def scored(folder, queries, measures, missing=()):
    folder.mkdir()
    made = {"queries": queries, "measures": measures, "missing": list(missing), "ignored": 0}
    (folder / "scores.json").write_text(json.dumps(made))
    return folder


def test_scores_of_several_collections_are_tested_by_the_mean_of_their_means(tmp_path):
    first = [[0.1, 0.4, 0.9], [0.5]], [[0.2, 0.1, 0.3], [0.0]]
    directories = [
        scored(tmp_path / f"{s}-{n}", [f"q{i}" for i in range(len(part))], {"nDCG@10": part}, ["q0"][: 1 - s])
        for s, parts in enumerate(first)
        for n, part in enumerate(parts)
    ]
    params = {"measures": ["nDCG@10"], "names": ["a", "b"]}
    facts = compare.run(params, {"scores": directories}, tmp_path, Progress())
    assert facts == {"queries": 4, "runs": 2, "missing": [2, 0]}
    found = json.loads((tmp_path / "significance.json").read_text())["measures"]["nDCG@10"]
    means = [sum(sum(part) / len(part) for part in parts) / 2 for parts in first]
    assert found["means"] == pytest.approx(means)
    assert found["difference"][0][1] == pytest.approx(means[0] - means[1])
    # of the 16 sign flips, which leave the weights alone, the extreme ones are counted by hand
    weighed = [
        x * w
        for part, other in zip(*first, strict=True)
        for x, w in ((x - y, 1 / len(part)) for x, y in zip(part, other, strict=True))
    ]
    sums = [abs(sum(x if n >> i & 1 else -x for i, x in enumerate(weighed))) for n in range(16)]
    extreme = sum(x >= abs(sum(weighed)) - 1e-9 for x in sums)
    assert found["permutation_p"][0][1] == extreme / 16


def test_scores_of_other_queries_are_refused(tmp_path):
    directories = [scored(tmp_path / q, [q, "q"], {"RR@10": [1.0, 0.5]}) for q in ("a", "b")]
    with pytest.raises(DataError, match="were scored on different queries"):
        params = {"measures": ["RR@10"], "names": ["a", "b"]}
        compare.run(params, {"scores": directories}, tmp_path, Progress())
