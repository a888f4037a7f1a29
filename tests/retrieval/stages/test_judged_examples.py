import pytest
from datasets import load_from_disk

from repro.errors import DataError
from repro.retrieval.stages import judged_examples
from repro.retrieval.stages.finetune import confident
from tests.noted import Noted

QRELS = """q1 0 n0 0
q1 0 p1 1
q1 0 p2 2
q1 0 n1 -1
q1 0 n2 0
q1 0 p3 1
q2 0 p1 2
q3 0 n1 0
q4 0 p9 1
q4 0 n9 0
"""


def examples(tmp_path, progress, *, qrels=QRELS, grade=0):
    (tmp_path / "qrels.trec").write_text(qrels)
    facts = judged_examples.run({"negative_grade": grade}, {"qrels": tmp_path}, tmp_path, progress)
    return list(load_from_disk(str(tmp_path / "arrow"))), facts


def test_the_annotated_passage_is_first_and_hard_negatives_are_those_of_their_grade(tmp_path, progress):
    rows, facts = examples(tmp_path, progress)
    assert rows[0] == {
        "query": "q1",
        "positives": ["p2", "p1", "p3"],
        "negatives": ["n0", "n2"],
        "positive_scores": [1000.0, 0.0, 0.0],
        "negative_scores": [0.0, 0.0],
    }
    assert [row["query"] for row in rows] == ["q1", "q4"]
    assert facts == {"queries": 2, "queries_left_out": 2}
    assert confident(rows[0]["positive_scores"], rows[0]["negative_scores"]) == [0]


def test_it_tells_of_every_judged_query(tmp_path):
    noted = Noted()
    examples(tmp_path, noted)
    assert noted.tasks == {"reading judgements": [None, 0], "choosing examples": [4, 4]}


def test_other_negatives_have_another_grade(tmp_path, progress):
    rows, _ = examples(tmp_path, progress, grade=-1)
    assert [row["negatives"] for row in rows] == [["n1"]]


def test_judgements_without_negatives_are_a_data_error(tmp_path, progress):
    with pytest.raises(DataError, match="both a positive and a negative of grade 0"):
        examples(tmp_path, progress, qrels="q2 0 p1 2\n")
