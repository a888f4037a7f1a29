"""Scores of somebody's run as an object and a frame; encoders are scored in tests/cli/test_encoders.py."""

import pytest

import repro
from repro.errors import DataError, UsageError
from repro.evaluation.run_writer import write_run
from repro.exchange.user_run_scores import judgements

DATASET = "tiny/passage/dev"


def test_a_run_is_scored_by_the_judgements_of_a_dataset(tmp_path):
    qrels = judgements(DATASET)
    run = {query: [(document, 1.0) for document in list(judged)[:1]] for query, judged in qrels.items()}
    write_run(tmp_path, run, "mine")
    scores = repro.evaluate(tmp_path / "run.trec", dataset=DATASET, measures=["R@1"])
    wanted = sum(1 / len(judged) for judged in qrels.values()) / len(qrels)
    assert scores.measures == {"R@1": pytest.approx(wanted)} and scores.missing == 0
    frame = scores.to_frame()
    assert frame.loc["R@1", "value"] == scores.measures["R@1"] and frame.shape == (1, 1)


def test_a_malformed_run_is_named_with_its_line(tmp_path):
    (tmp_path / "x.run").write_text("no run")
    with pytest.raises(DataError, match=r"x\.run:1"):
        repro.evaluate(tmp_path / "x.run", dataset=DATASET, measures=["R@1"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"dataset": "tiny/passage/dev", "measures": "RR@10"},
            "measures takes several names, not the text 'RR@10'",
        ),
        (
            {"dataset": "tiny/passage/dev", "scale": "tiny"},
            "scale are of an encoder, measures of a run; leave out",
        ),
        (
            {"table": "costa/1", "measures": ["RR@10"]},
            "scale are of an encoder, measures of a run; leave out",
        ),
    ],
)
def test_what_would_not_be_used_is_refused(tmp_path, given, words):
    with pytest.raises(UsageError, match=words):
        repro.evaluate(tmp_path / "none", **given)
