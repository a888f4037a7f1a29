import pytest

from repro.errors import DataError, UsageError
from repro.retrieval.stages import listed_negatives
from tests.retrieval.datasets.folders import planned, write_lines

ID = "msmarco-passage/train/hard-negatives"
FILE = "msmarco-passage/msmarco-hard-negatives.jsonl"


def _scored(**scores):
    return [{"pid": name.lstrip("p"), "ce-score": score} for name, score in scores.items()]


ROWS = [
    {
        "qid": "30",
        "pos": _scored(p7=10.0, p8=6.0),
        "neg": {"bm25": _scored(p1=3.5, p2=3.0, p3=-1.0), "tas-b": _scored(p7=10.0, p3=-1.0, p4=2.0, p5=0.0)},
    },
    {"qid": "4", "pos": [], "neg": {"bm25": _scored(p1=0.0)}},
    {"qid": "5", "pos": _scored(p9=1.0), "neg": {"bm25": _scored(p1=0.0)}},
    {"qid": "2", "pos": _scored(p6=9.0), "neg": {"bm25": _scored(p8=-9.0), "tas-b": []}},
]
MARGIN_3 = [("30", ["7", "8"], ["2", "3", "4", "5"]), ("2", ["6"], ["8"])]


@pytest.fixture
def root(tmp_path):
    write_lines(tmp_path / FILE, ROWS)
    return tmp_path


def _run(root, progress, *, margin=3.0, per_system=None, systems=None):
    from datasets import load_from_disk

    chosen = {"margin": margin, "per_system": per_system, "systems": systems}
    params = planned("listed_negatives", root, dataset=ID, **chosen)
    out = root / "out"
    out.mkdir(exist_ok=True)
    facts = listed_negatives.run(params, {}, out, progress)
    rows = load_from_disk(str(out / "arrow")).to_list()
    return facts, [(row["query"], row["positives"], row["negatives"]) for row in rows]


def test_a_row_a_query_in_the_order_of_the_file(root, progress):
    facts, rows = _run(root, progress)
    assert rows == MARGIN_3
    del facts["digest"]
    left_out = {"queries_without_positive": 1, "queries_without_negative": 1}
    assert facts == {"queries": 2, "negatives": 5} | left_out


def test_without_a_margin_the_close_ones_stay_but_no_positive(root, progress):
    facts, rows = _run(root, progress, margin=None)
    assert [row[2] for row in rows] == [["1", "2", "3", "4", "5"], ["1"], ["8"]]
    assert facts["queries"] == 3


def test_so_many_of_each_retriever_and_of_some_only(root, progress):
    assert _run(root, progress, per_system=1)[1][0][2] == ["2", "3"]
    assert _run(root, progress, systems=["tas-b"])[1] == [("30", ["7", "8"], ["3", "4", "5"])]


def test_a_retriever_that_is_nowhere_in_the_file_is_named(root, progress):
    with pytest.raises(UsageError, match=r"'tas' is not a known system. Did you mean tas-b"):
        _run(root, progress, systems=["bm25", "tas"])


def test_ids_alone_serve_without_a_margin_and_are_refused_with_one(root, progress):
    write_lines(root / FILE, [{"qid": 7, "pos": [1], "neg": {"bm25": [2, 1, 3], "tas-b": [3]}}])
    assert _run(root, progress, margin=None)[1] == [("7", ["1"], ["2", "3"])]
    with pytest.raises(DataError, match=r"negatives\.jsonl:1: no margin without a ce-score of passage '1'"):
        _run(root, progress)


def test_a_file_that_leaves_no_query_is_an_error(root, progress):
    with pytest.raises(DataError, match="leaves no query with a negative"):
        _run(root, progress, margin=100.0)


def test_a_malformed_line_is_told_and_leaves_no_training_set(root, progress):
    write_lines(root / FILE, [*ROWS, {"qid": "9"}])
    with pytest.raises(DataError, match=r"msmarco-hard-negatives\.jsonl:5: neg is missing"):
        _run(root, progress)
    assert not (root / "out/arrow").exists()
