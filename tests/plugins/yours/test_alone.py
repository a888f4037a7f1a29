"""Runs of one's own by judgements alone."""

import pytest

import repro
from repro.errors import UsageError
from repro.plugins.yours.runs import judgements
from repro.retrieval.evaluation.run_writer import write_run

DATASET = "tiny/passage/dev"


@pytest.fixture
def run_file(tmp_path):
    """The first judged document of every query, and nothing else."""
    run = {
        query: [(document, 1.0) for document in list(judged)[:1]]
        for query, judged in judgements(DATASET).items()
    }
    write_run(tmp_path, run, "mine")
    return tmp_path / "run.trec"


def test_runs_are_scored_by_a_dataset_and_tested_among_themselves(run_file):
    scores = repro.compare(yours=[run_file, run_file], dataset=DATASET, measures=["R@1", "AP"])
    wanted = sum(1 / len(judged) for judged in judgements(DATASET).values()) / len(judgements(DATASET))
    frame = scores.to_frame()
    assert frame.loc[f"yours/{DATASET}/yours-1/R@1", "measured"] == pytest.approx(wanted)
    assert {(test["row"], test["over"], test["p"]) for test in scores.tests()} == {
        ("yours-1", "yours-2", 1.0),
        ("yours-2", "yours-1", 1.0),
    }
    assert "Runs scored by the judgements of" in scores.to_latex()


def test_a_file_of_judgements_scores_by_whatever_measure(run_file, tmp_path):
    grades = judgements(DATASET)
    lines = (f"{q} 0 {d} {g}\n" for q, by_document in grades.items() for d, g in by_document.items())
    (tmp_path / "my.qrels").write_text("".join(lines))
    by_file, by_set = (
        [c.measured for c in repro.compare(yours=run_file, measures=["MRR@10", "P@1", "AP"], **given)]
        for given in ({"qrels": tmp_path / "my.qrels"}, {"dataset": DATASET})
    )
    assert by_file == by_set and len(by_file) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dataset": DATASET, "measures": "RR@10"}, "measures takes several names, not the text 'RR@10'"),
        ({"yours": None}, "a run or an encoder of yours is a path, a name or a mapping, not None"),
        ({"yours": [b"a.run"]}, "a path, a name or a mapping, not b'a.run'"),
        ({"yours": ""}, "a path, a name or a mapping, not ''"),
        ({}, "name the table that it is to be a row of"),
        ({"dataset": DATASET}, "no table has a measure for tiny/passage/dev; name one with --measure"),
        ({"dataset": DATASET, "measures": ["nothing@3"]}, "nothing@3"),
        ({"dataset": "msmarco"}, "there is no dataset 'msmarco'"),
    ],
)
def test_what_cannot_be_scored_is_refused(run_file, given, words):
    with pytest.raises(UsageError, match=words):
        repro.compare(**{"yours": run_file, **given})


def test_options_of_yours_need_something_of_yours_and_a_table_has_its_own_measures(run_file):
    with pytest.raises(UsageError, match="give them as yours"):
        repro.compare(dataset=DATASET)
    with pytest.raises(UsageError, match="a paper's table has judgements and measures"):
        repro.compare("costa/1", yours=run_file, measures=["AP"])
    with pytest.raises(UsageError, match="is an encoder, which needs texts"):
        repro.compare(yours=run_file.parent, dataset=DATASET)
