import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.evaluation.measures import score
from repro.evaluation.run_writer import write_run
from repro.evaluation.runs import read_run
from repro.exchange import user_run_scores
from repro.exchange.user_run_scores import judgements, scored_run, scores_of, usual_measures
from tests.datasets.folders import without_counts, write

DATASET = "tiny/passage/dev"


@pytest.fixture(autouse=True)
def nothing_of_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("REPRO_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))


DL19 = "msmarco-passage/trec-dl-2019/judged"


@pytest.fixture
def run_file(tmp_path):
    """Every judged query but one, its documents behind a foreign one; and a query that is not judged.

    One query has twelve documents, the others fewer.
    """
    qrels = judgements(DATASET)
    run = {q: [("foreign", 9.0), *((d, -i) for i, d in enumerate(judged))] for q, judged in qrels.items()}
    del run[min(run)]
    run[max(run)] += [(f"foreign{rank}", -float(rank)) for rank in range(len(run[max(run)]), 12)]
    run["elsewhere"] = [(f"foreign{rank}", float(rank)) for rank in range(2000)]
    write_run(tmp_path, run, "mine")
    return tmp_path / "run.trec"


def test_a_run_scores_what_the_suite_would_score_it(run_file):
    qrels = judgements(DATASET)
    found = scored_run(run_file, DATASET, ["RR@10", "R@5", "RR@10"])
    scores = score(read_run(run_file), qrels, ["RR@10", "R@5"], ignore_identical_ids=False)
    counts = {"queries": len(qrels), "missing": 1, "foreign": 1, "depth": 12, "left_out": [], "differing": []}
    assert found == {"measures": scores.means, **counts}
    assert found["measures"]["RR@10"] == pytest.approx(0.5 * (len(qrels) - 1) / len(qrels))


def test_a_packed_run_scores_the_same(run_file):
    packed = run_file.with_name("packed")  # the name does not say that it is
    packed.write_bytes(gzip.compress(run_file.read_bytes()))
    assert scored_run(packed, DATASET, ["nDCG@10"]) == scored_run(run_file, DATASET, ["nDCG@10"])


def test_a_measure_that_looks_deeper_than_every_judged_query_goes_is_no_score(run_file, monkeypatch):
    """The query that is not judged has two thousand documents, which vouch for nothing."""
    with pytest.raises(UsageError, match=r"has 12 documents a query, R@13 looks at 13; take a deeper run"):
        scored_run(run_file, DATASET, ["RR@10", "R@13"])
    monkeypatch.setattr(user_run_scores, "usual_measures", lambda dataset: ["RR@10", "R@1000"])
    found = scored_run(run_file, DATASET, [])
    assert set(found["measures"]) == {"RR@10"} and found["left_out"] == ["R@1000"]
    monkeypatch.setattr(user_run_scores, "usual_measures", lambda dataset: ["R@50", "R@1000"])
    with pytest.raises(UsageError, match="R@50 looks at 50"):
        scored_run(run_file, DATASET, [])


def test_without_a_measure_a_dataset_has_the_suites_own():
    assert usual_measures("msmarco-passage/trec-dl-2019/judged") == ["nDCG@10", "R(rel=2)@1000"]
    assert "nDCG@10" in usual_measures("beir/scifact/test")
    with pytest.raises(UsageError, match="name one with --measure"):
        usual_measures(DATASET)


def test_public_runs_score_what_is_published_of_them(real_data):
    run = real_data / "runs" / "ance.dl19-passage.top1000.trec.gz"
    found = scored_run(run, "msmarco-passage/trec-dl-2019/judged", [], data=real_data)
    assert round(found["measures"]["nDCG@10"], 4) == 0.6537
    assert (found["queries"], found["missing"]) == (43, 0)


@pytest.mark.parametrize(
    ("dataset", "error", "words"),
    [
        ("msmarco", UsageError, "there is no dataset 'msmarco'"),
        ("beir/cqadupstack", UsageError, "score a run of each, as of beir/cqadupstack/android"),
        ("dpr-w100/natural-questions/test", UsageError, "judged by answers"),
        ("msmarco-passage", UsageError, "has no judgements.*name one of its splits"),
        ("msmarco-passage/dev/small", BlockedError, "are not in .*repro-bench"),
    ],
)
def test_what_cannot_score_a_run_says_why(run_file, dataset, error, words):
    with pytest.raises(error, match=words):
        scored_run(run_file, dataset, ["RR@10"])


def test_an_unknown_measure_is_told_the_known_ones(run_file):
    with pytest.raises(UsageError, match="there is no measure 'MRR@10'"):
        scored_run(run_file, DATASET, ["MRR@10"])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "there is no line of a run in it"),
        ("nobody Q0 d1 1 2.0 me\n", "none of the run's 1 queries is among"),
        ("{q} Q0 not-there 1 2.0 me\n", "none of its documents is judged"),
        ("{q} Q0 d1 1 nan me\n", ":1: the score 'nan' is no finite"),
        ("{q} Q0 d1 1 2.0 me\n{q} Q0 d1 2 1.0 me\n", ":2: document 'd1' is listed twice"),
    ],
)
def test_a_run_that_cannot_be_scored_is_named_with_the_reason(tmp_path, lines, words):
    path = tmp_path / "bad.trec"
    path.write_text(lines.format(q=min(judgements(DATASET))))
    with pytest.raises(DataError, match=words) as error:
        scored_run(path, DATASET, ["RR@1"])
    assert str(path) in str(error.value)


@pytest.fixture
def binary_judgements(tmp_path, monkeypatch):
    """Judgements of DL 2019 in a data folder, as many as NIST's and without grades above 1; and a run."""
    without_counts(monkeypatch, DL19)
    write(tmp_path / "data/qrels/qrels.dl19-passage.txt", "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n")
    return write(tmp_path / "a.run", "1 Q0 d1 1 2.0 t\n1 Q0 d2 2 1.0 t\n2 Q0 d2 1 1.0 t\n2 Q0 d1 2 0.5 t\n")


def test_a_score_by_judgements_that_are_not_those_published_says_so(binary_judgements, tmp_path):
    found = scored_run(binary_judgements, DL19, ["nDCG@2"], data=tmp_path / "data")
    words = f"the judgements of {DL19} are not as published; `repro data check {DL19}` says what differs"
    assert found["differing"] == [words]


def test_a_measure_above_every_grade_and_judgements_without_a_relevant_document_are_refused(
    binary_judgements, tmp_path
):
    words = (
        r"R\(rel=2\)@2 counts grade 2 and above as relevant, and the highest grade of these judgements is 1"
    )
    with pytest.raises(DataError, match=f"a.run: {words}"):
        scored_run(binary_judgements, DL19, ["nDCG@2", "R(rel=2)@2"], data=tmp_path / "data")
    write(tmp_path / "data/qrels/qrels.dl19-passage.txt", "1 0 d1 0\n1 0 d2 0\n2 0 d1 -1\n")
    words = f"none of the 3 judgements of {DL19} has a grade above 0: nothing is relevant"
    with pytest.raises(DataError, match=words):
        scored_run(binary_judgements, DL19, ["nDCG@2"], data=tmp_path / "data")


QUERY, JUDGED = next(iter(judgements(DATASET).items()))
DOCUMENT = max(JUDGED, key=JUDGED.get)
LINE = f"{QUERY} Q0 {DOCUMENT} 1 0.5 me".encode()
WORDS = st.sampled_from([QUERY, "Q0", DOCUMENT, "1", "0.5", "nan", "-inf", "", "é", "\x00"])
LINE_LIKE = st.lists(WORDS, min_size=5, max_size=7).map(" ".join)
LINES = st.lists(LINE_LIKE, max_size=4).map("\n".join).map(str.encode)
CUT_OFF = LINES.map(lambda lines: gzip.compress(lines)[:-3])
FILES = st.one_of(st.binary(max_size=60), LINES, LINES.map(gzip.compress), CUT_OFF)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=FILES)
@example(content=LINE)
@example(content=LINE + b"\n" + LINE)
@example(content=gzip.compress(LINE)[:-1])
def test_whatever_bytes_a_run_holds_it_is_scored_or_refused(tmp_path, content):
    """Bytes, words and nearly right lines: a number comes of a judged document only, never a 0 of nothing."""
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    try:
        found, depth = scores_of(path, judgements(DATASET), ["R@1000"], ignore_identical_ids=False)
    except ReproError as error:
        assert "\n" not in str(error)
        assert error.exit_status == 2
        assert content != LINE
    else:
        assert 0 < found.means["R@1000"] <= 1 <= depth
