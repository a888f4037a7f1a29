import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.plugins.yours.runs import Judged, OwnRun, judgements, read_given_qrels, usual_measures
from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run
from tests.retrieval.datasets.folders import without_counts, write

DATASET = "tiny/passage/dev"
DL19 = "msmarco-passage/trec-dl-2019/judged"


@pytest.fixture(autouse=True)
def nothing_of_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("REPRO_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))


@pytest.fixture
def run_file(tmp_path):
    """Every judged query but one, its documents behind a foreign one; and a query that is not judged."""
    qrels = judgements(DATASET)
    run = {q: [("9999", 9.0), *((d, -i) for i, d in enumerate(judged))] for q, judged in qrels.items()}
    del run[min(run)]
    run[max(run)] += [(f"88{rank}", -float(rank)) for rank in range(len(run[max(run)]), 12)]
    run["77777"] = [(f"9{rank}", float(rank)) for rank in range(2000)]
    write_run(tmp_path, run, "mine")
    return tmp_path / "run.trec"


def scored(path, measures, dataset=DATASET, data=None):
    judged = Judged.of(dataset, data)
    run = OwnRun(path)
    run.covered({dataset: judged})
    return run, run.scores(judged, measures)


def test_a_run_scores_what_the_suite_would_score_it(run_file):
    run, found = scored(run_file, ["RR@10", "R@5"])
    scores = score(read_run(run_file), judgements(DATASET), ["RR@10", "R@5"], ignore_identical_ids=False)
    assert {measure: each.mean for measure, each in found.items()} == scores.means
    assert {measure: each.values for measure, each in found.items()} == scores.measures
    [each, _] = found.values()
    assert (each.missing, each.depth, each.cut_at) == (1, 12, None)
    assert any("1 of 150 judged queries are missing and count as 0" in note for note in run.notes), run.notes


def test_a_packed_run_scores_the_same(run_file):
    packed = run_file.with_name("packed")
    packed.write_bytes(gzip.compress(run_file.read_bytes()))
    assert (
        scored(packed, ["nDCG@10"])[1]["nDCG@10"].values == scored(run_file, ["nDCG@10"])[1]["nDCG@10"].values
    )


def test_a_measure_that_looks_deeper_than_every_judged_query_goes_is_cut(run_file):
    """The query that is not judged has two thousand documents, which vouch for nothing."""
    found = scored(run_file, ["R@12", "R@13"])[1]
    assert [each.cut_at for each in found.values()] == [None, 12]


def test_a_set_that_is_met_by_chance_alone_is_not_covered(run_file):
    """Ids are whole numbers in many collections: some queries and documents are judged in another, too."""
    judged = Judged.of(DATASET, None)
    queries = [q for q in sorted(judged.grades) if q in read_run(run_file)]
    strange = {q: {"no-document": 1} for q in queries[1:]} | {queries[0]: {"9999": 1}}
    run = OwnRun(run_file)
    assert run.covered({"strange": Judged("strange", strange, False), DATASET: judged}) == [DATASET]


def test_a_run_of_several_sets_is_refused_for_what_is_wrong_with_it_and_not_for_its_topics(run_file):
    """The first set is of other queries, as the development set is for a run of TREC's."""
    judged = Judged.of(DATASET, None)
    run_file.write_text("".join(line.replace(" Q0 ", " Q0 doc:") for line in run_file.open()))
    others = {"others": Judged("others", {"another query": {"1": 1}}, False)}
    with pytest.raises(DataError, match=r"run\.trec: none of its documents .*its ids look like 'doc:"):
        OwnRun(run_file).covered(others | {DATASET: judged})
    with pytest.raises(DataError, match=r"none of the run's .* of another dataset"):
        OwnRun(run_file).covered(others | {"more": others["others"]})
    run_file.write_text("1 Q0 2\n")
    with pytest.raises(DataError, match=r"run\.trec:1: 3 columns: a TREC run has 6 .* separated by tabs$"):
        OwnRun(run_file).covered(others | {DATASET: judged})


def test_without_a_measure_a_dataset_has_the_suites_own():
    assert usual_measures(DL19) == ["nDCG@10", "R(rel=2)@1000"]
    assert "nDCG@10" in usual_measures("beir/scifact/test")
    with pytest.raises(UsageError, match=r"Name one, e\.g\. --measure nDCG@10"):
        usual_measures(DATASET)


@pytest.mark.parametrize(
    ("dataset", "error", "words"),
    [
        ("msmarco", UsageError, "'msmarco' is not a known dataset"),
        ("beir/cqadupstack", UsageError, "Score a run of each, e.g. beir/cqadupstack/android"),
        ("dpr-w100/natural-questions/test", UsageError, "judged by answers"),
        ("msmarco-passage", UsageError, "has no judgements. Name one of its splits"),
        ("msmarco-passage/dev/small", BlockedError, "are not in .*repro-bench"),
    ],
)
def test_what_cannot_score_a_run_says_why(dataset, error, words):
    with pytest.raises(error, match=words):
        Judged.of(dataset, None)


@pytest.fixture
def binary_judgements(tmp_path, monkeypatch):
    without_counts(monkeypatch, DL19)
    write(tmp_path / "data/qrels/qrels.dl19-passage.txt", "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n")
    return write(tmp_path / "a.run", "1 Q0 d1 1 2.0 t\n1 Q0 d2 2 1.0 t\n2 Q0 d2 1 1.0 t\n2 Q0 d1 2 0.5 t\n")


def test_a_score_by_judgements_that_are_not_those_published_says_so(binary_judgements, tmp_path):
    found = scored(binary_judgements, ["nDCG@2"], DL19, tmp_path / "data")[1]["nDCG@2"]
    words = f"the judgements of {DL19} differ from the published ones (see `repro data check {DL19}`)"
    assert found.differing == (words,)


def test_a_measure_above_every_grade_and_judgements_without_a_relevant_document_are_refused(
    binary_judgements, tmp_path
):
    words = (
        r"R\(rel=2\)@2 counts grade 2 and above as relevant, and the highest grade of these judgements is 1"
    )
    with pytest.raises(DataError, match=f"a.run: {words}"):
        scored(binary_judgements, ["nDCG@2", "R(rel=2)@2"], DL19, tmp_path / "data")
    write(tmp_path / "data/qrels/qrels.dl19-passage.txt", "1 0 d1 0\n1 0 d2 0\n2 0 d1 -1\n")
    words = f"none of the 3 judgements of {DL19} has a grade above 0: nothing is relevant"
    with pytest.raises(DataError, match=words):
        scored(binary_judgements, ["nDCG@2"], DL19, tmp_path / "data")


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
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    try:
        found = scored(path, ["R@1000"])[1]["R@1000"]
    except ReproError as error:
        assert "\n" not in str(error)
        assert error.exit_status == 2
        assert content != LINE
    else:
        assert 0 < found.mean <= 1 <= found.depth


QRELS = {"1": {"a": 2, "b": 0}, "2": {"a": -1}}
TREC = "1 0 a 2\n1 0 b 0\n2 0 a -1\n"
BEIR = "1\ta\t2\n1\tb\t0\n2\ta\t-1\n"
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize("content", [TREC, TREC.replace(" ", "\t"), BEIR, HEADER + BEIR, TREC + "1 0 a 2\n"])
def test_columns_of_trec_and_of_beir_are_read_plain_and_gzipped(tmp_path, content):
    for name, data in (("qrels", content.encode()), ("qrels.gz", gzip.compress(content.encode()))):
        (tmp_path / name).write_bytes(data)
        assert read_given_qrels(tmp_path / name) == QRELS


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", ": is empty"),
        ("1 0 a 1\n1 0 a 2\n", ":2: judges 'a' for query '1' as 2, an earlier line as 1"),
        ("1 0 a 1.5\n", ":1: the grade '1.5' is not an integer"),
        ("1 0 a 1\n1 0 b", ":2: has 3 columns instead of 4"),
        ("1 Q0 a 1 0.5 t\n", ":1: 6 columns like a run. Judgements have TREC's form"),
        ("1 0 a 0\n1 0 b -1\n", ": none of the 2 judgements has a grade above 0: nothing is relevant"),
        ('{"1": {"a": 1.5}}', ": query '1': the grade 1.5 is not a whole number"),
        ('{"1": {"a": 1, "a": 2}}', ": it is not a valid JSON file (the key 'a' occurs twice)"),
        ("1 0 a 1\n".encode("utf-16"), ":1: byte 1 of the line (0xff) is not UTF-8"),
    ],
)
def test_what_is_no_file_of_judgements_is_refused_with_its_line(tmp_path, content, reason):
    path = tmp_path / "qrels"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read_given_qrels(path)
    assert str(caught.value).startswith(f"{path}{reason}")
