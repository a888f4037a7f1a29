"""The curve of a training's loss is drawn from the log beside what it trained."""

import json

import pytest

from repro.errors import UsageError
from repro.report.article.losses import PLACES, losses
from repro.store import Store
from tests.report.article.test_article import results_of


def shown(draw, **told):
    return told


def test_a_loss_curve_has_the_means_of_the_log(tmp_path):
    results = results_of(tmp_path, tmp_path / "results")
    [trained] = [node for node in results.stages("1/start") if node.stage == "pretrain"]
    lines = [{"step": 10 * (k + 1), "loss": float(k)} for k in range(2 * PLACES)]
    text = "\n".join(map(json.dumps, lines))
    Store(tmp_path / "store").build(
        trained, lambda out: (out / "train_log.jsonl").write_text(text) and None, waiting=lambda: None
    )
    told = losses(results, shown, "1/start")
    assert told["rows"] == [(20 * (k + 1), 2 * k + 0.5, 2 * k, 2 * k + 1) for k in range(PLACES)]
    assert "Means of 2 logged losses" in told["small"] and "small-cpu" in told["small"]


def test_without_a_log_nothing_is_drawn(tmp_path):
    assert losses(results_of(tmp_path, tmp_path / "results"), shown, "1/start")["rows"] == []


def test_a_row_without_pre_training_has_no_curve(tmp_path):
    with pytest.raises(UsageError, match="row 1/bm25 has no pre-training"):
        losses(results_of(tmp_path, tmp_path / "results"), shown, "1/bm25")
