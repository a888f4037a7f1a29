import json

import pytest

from repro.errors import DataError, UsageError
from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.stages import evaluate
from tests.retrieval.datasets.folders import write_lines
from tests.retrieval.stages.conftest import folders

RUN = {"q1": [("d2", 3.0), ("d1", 2.0)], "q3": [("d3", 5.0), ("q3", 9.0)], "stray": [("d1", 1.0)]}


@pytest.fixture
def inputs(tmp_path):
    """Artefacts: a run over q1 and q3, judgements for q1 to q3, questions with answers, three passages."""
    from datasets import Dataset

    names = ("run", "qrels", "queries", "corpus", "out")
    inputs = dict(zip(names, folders(tmp_path, *names), strict=True))
    write_run(inputs["run"], RUN, "tag")
    (inputs["qrels"] / "qrels.trec").write_text("q1 0 d1 2\nq1 0 d9 1\nq2 0 d1 1\nq3 0 d3 1\n")
    questions = [("q1", ["Paris"]), ("q2", ["Rome"]), ("q3", ["title only"])]
    records = ({"id": name, "text": "where", "answers": answers} for name, answers in questions)
    write_lines(inputs["queries"] / "queries.jsonl", records)
    passages = {
        "id": ["d1", "d2", "d3", "q3"],
        "title": ["", "", "title only", ""],
        "text": ["It was in Paris.", "Elsewhere.", "Nowhere.", "Here."],
    }
    Dataset.from_dict(passages).save_to_disk(str(inputs["corpus"] / "arrow"))
    return inputs


def evaluated(inputs, **params):
    out = inputs["out"]
    given = {"measures": ["RR@10"], "ignore_identical_ids": False, "judgements": "qrels", **params}
    facts = evaluate.run(given, {k: v for k, v in inputs.items() if k != "out"}, out, Progress())
    return facts, json.loads((out / "scores.json").read_text())


def test_scores_lie_per_query_with_what_is_missing_and_ignored(inputs):
    facts, scores = evaluated(inputs, measures=["RR@10", "R(rel=2)@1000"])
    assert scores == {
        "queries": ["q1", "q2", "q3"],
        "measures": {"RR@10": [0.5, 0.0, 0.5], "R(rel=2)@1000": [1.0, 0.0, 0.0]},
        "missing": ["q2"],
        "ignored": 1,
    }
    assert facts == {
        "queries": 3,
        "missing": 1,
        "ignored": 1,
        "means": {"RR@10": pytest.approx(1 / 3), "R(rel=2)@1000": pytest.approx(1 / 3)},
    }


def test_documents_named_like_their_query_can_be_ignored(inputs):
    _, scores = evaluated(inputs, ignore_identical_ids=True)
    assert scores["measures"]["RR@10"] == [0.5, 0.0, 1.0]


def test_answers_are_looked_for_in_texts_without_titles(inputs):
    facts, scores = evaluated(inputs, judgements="answers", measures=["Success@1", "Success@2"])
    assert scores["measures"] == {"Success@1": [0.0, 0.0, 0.0], "Success@2": [1.0, 0.0, 0.0]}
    assert scores["missing"] == ["q2"]
    assert facts["ignored"] == 1


def test_a_passage_that_is_not_in_the_corpus_is_named(inputs):
    write_run(inputs["run"], {"q1": [("gone", 1.0)]}, "tag")
    with pytest.raises(DataError, match="document 'gone' is not in the corpus"):
        evaluated(inputs, judgements="answers", measures=["Success@1"])


def test_other_measures_are_refused(inputs):
    with pytest.raises(UsageError, match="'MAP' is not a known measure"):
        evaluated(inputs, measures=["MAP"])
    with pytest.raises(UsageError, match="not defined for answers"):
        evaluated(inputs, judgements="answers", measures=["RR@10"])


@pytest.mark.parametrize(
    ("judgements", "measure", "words"),
    [
        ("q1 0 d1 0\nq3 0 d3 -1\n", "nDCG@10", "none of the 2 judgements has a grade above 0"),
        ("q1 0 d1 1\nq3 0 d3 0\n", "RR(rel=2)@10", "and the highest grade of these judgements is 1"),
    ],
)
def test_judgements_by_which_every_run_scores_0_are_refused(inputs, judgements, measure, words):
    (inputs["qrels"] / "qrels.trec").write_text(judgements)
    with pytest.raises(DataError, match=words):
        evaluated(inputs, measures=[measure])


def test_a_damaged_run_is_named_with_its_line(inputs):
    with open(inputs["run"] / "run.trec", "a") as file:
        file.write("q1 Q0 d7 3 0.")
    with pytest.raises(DataError, match=r"run.trec:6: 5 columns"):
        evaluated(inputs)
