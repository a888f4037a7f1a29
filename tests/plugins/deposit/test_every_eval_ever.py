"""Logs of every_eval_ever, held against what its schema asks for and against the records they are of."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from repro.graph import Node, walk
from repro.manifest.cells import cell
from repro.plugins.deposit.every_eval_ever import Summary, write_logs
from repro.plugins.deposit.history import Account, History
from repro.store import Store
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell
from repro.verdicts.verdict import Verdict
from tests.plugins.deposit import every_eval_ever_0_3_0 as schema

OURS, CITED, PERCENT = (
    "costa/1/hardneg.costa/dev.rr10",
    "costa/1/sparse.deepct/dev.rr10",
    "simlm/5/bert/dev.rr10",
)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
SCORES = [1.0, 0.0, 0.5, 0.25]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def evaluated(store: Store, scores: list[float], *, name: str = "a", made_by: str = "imported_run") -> str:
    """The fingerprint of a stored evaluation with these scores, of a run that the stage gave."""
    vectors = {"passages": _encoded("passages", made_by), "queries": _encoded("queries", made_by)}
    imported = made_by == "imported_run"
    run = Node("imported_run", {"dataset": name}) if imported else Node("search", {}, vectors)
    node = Node(
        "evaluate",
        {"measures": ["RR@10"]},
        {"run": run, "qrels": Node("qrels", {"dataset": "tiny/passage/dev"})},
    )
    store.remember(walk([node]))

    def work(folder):
        content = {
            "queries": [f"q{n}" for n in range(len(scores))],
            "measures": {"RR@10": scores},
            "missing": [],
        }
        (folder / "scores.json").write_text(json.dumps(content))

    store.build(node, work, waiting=lambda: None)
    return node.fingerprint


def _encoded(texts: str, made_by: str) -> Node:
    return Node("encode", {"texts": texts}, {"model": Node(made_by)})


def account(identifier: str, *values: tuple[float, str], scale: str = "full") -> list[Account]:
    """Accounts of a cell measured once or with the seeds 1, 2, …, from values and their evaluations."""
    seeds = [None] if len(values) == 1 else range(1, len(values) + 1)
    how = {"measure": "RR@10", "unit": cell(identifier).unit, "environment": {"commit": "abc"}}
    records = tuple(
        Record(identifier, scale, value, seed, fingerprint, len(SCORES), 0, **how)
        for seed, (value, fingerprint) in zip(seeds, values, strict=True)
    )
    compared = ComparedCell(cell(identifier), scale, records, Verdict("lower", "because"))
    return [Account(compared, record, (record.fingerprint,)) for record in records]


@pytest.fixture
def logs(store, tmp_path):
    """``logs(accounts)``: the published log, ours, its rows and what the writer says; all checked."""

    def write(accounts, by=None) -> tuple[dict | None, dict, list[dict], Summary]:
        folder = tmp_path / f"logs-{len(list(tmp_path.iterdir()))}"
        written = write_logs(accounts, History(store), folder, by=by, now=NOW)
        read, rows = {}, []
        for path in folder.rglob("*.json"):
            log = json.loads(path.read_text())
            schema.Log.model_validate_json(path.read_text())
            place = path.relative_to(folder).as_posix()
            assert re.fullmatch(rf"data/repro-\w+/{log['model_info']['id']}/{schema.UUID4}\.json", place)
            read[log["source_metadata"]["source_type"]] = log
            if told := log.get("detailed_evaluation_results"):
                assert told["file_path"] == place.removesuffix(".json") + "_samples.jsonl"
                content = (folder / told["file_path"]).read_bytes()
                assert told["checksum"] == hashlib.sha256(content).hexdigest()
                rows = [json.loads(line) for line in content.splitlines()]
                assert told["total_rows"] == len(rows)
        for row in rows:
            schema.Row.model_validate_json(json.dumps(row))
        return read.get("documentation"), read.get("evaluation_run"), rows, written

    return write


def score_of(log: dict) -> dict:
    return log["evaluation_results"][0]["score_details"]


def test_a_cell_has_a_log_of_the_published_number_and_one_of_ours(logs, store):
    fingerprint = evaluated(store, SCORES, made_by="finetune")
    published, ours, rows, written = logs(account(OURS, (0.4375, fingerprint)))
    assert score_of(published) == {"score": 0.366, "details": {"published": cell(OURS).text}}
    assert published["source_metadata"]["additional_details"]["doi"] == "10.1145/3477495.3531772"
    assert score_of(ours)["score"] == 0.4375
    assert json.loads(score_of(ours)["details"]["fingerprints"]) == [fingerprint]
    assert score_of(ours)["details"]["verdict"] == "lower"
    assert ours["eval_library"]["additional_details"]["commit"] == "abc"
    assert ours["source_metadata"]["source_organization_name"] == "unknown"
    for log in (published, ours):
        [result] = log["evaluation_results"]
        assert (result["metric_config"]["metric_name"], result["metric_config"]["max_score"]) == ("RR@10", 1)
    assert [row["evaluation"]["score"] for row in rows] == SCORES
    assert [row["evaluation"]["is_correct"] for row in rows] == [True, False, True, True]
    assert {row["evaluation_id"] for row in rows} == {ours["evaluation_id"]}
    assert {row["model_id"] for row in rows} == {ours["model_info"]["id"]}
    assert (written.published, written.measured, written.without_queries) == (1, 1, [])


def test_one_evaluation_has_the_bootstrap_interval_of_the_tests_between_rows(logs, store):
    _, ours, _, _ = logs(account(OURS, (0.4375, evaluated(store, SCORES))))
    uncertainty = score_of(ours)["uncertainty"]
    interval = uncertainty["confidence_interval"]
    assert 0 <= interval["lower"] < 0.4375 < interval["upper"] <= 1
    assert (uncertainty["num_samples"], uncertainty["num_bootstrap_samples"]) == (4, 10_000)
    assert uncertainty["standard_deviation"] == pytest.approx(0.42696, abs=1e-5)


def test_several_seeds_have_their_mean_its_interval_and_the_rows_of_each(logs, store):
    values = [(0.4375, evaluated(store, SCORES)), (0.25, evaluated(store, [0.25] * 4, name="b"))]
    _, ours, rows, _ = logs(account(OURS, *values))
    told = score_of(ours)
    assert told["score"] == 0.34375
    assert told["uncertainty"]["num_samples"] == 2
    assert told["uncertainty"]["standard_error"]["value"] == pytest.approx(0.09375)
    half = 12.7062 * 0.09375  # t of one degree of freedom
    assert told["uncertainty"]["confidence_interval"]["upper"] == pytest.approx(0.34375 + half, abs=1e-4)
    assert [row["metadata"]["evaluation"] for row in rows] == [values[0][1]] * 4 + [values[1][1]] * 4


def test_percent_stays_percent_in_number_bounds_interval_and_rows(logs, store):
    published, ours, rows, _ = logs(account(PERCENT, (43.75, evaluated(store, SCORES))))
    for log in (published, ours):
        assert log["evaluation_results"][0]["metric_config"]["max_score"] == 100
        assert log["evaluation_results"][0]["metric_config"]["metric_unit"] == "percent"
    assert [row["evaluation"]["score"] for row in rows] == [100, 0, 50, 25]
    assert score_of(ours)["uncertainty"]["confidence_interval"]["upper"] > 43.75


@pytest.mark.parametrize("value", [0.4376, 0.9])
def test_scores_that_do_not_give_the_recorded_value_are_not_attached(logs, store, value):
    _, ours, rows, written = logs(account(OURS, (value, evaluated(store, SCORES))))
    assert (rows, written.without_queries) == ([], [OURS])
    assert "uncertainty" not in score_of(ours) and "detailed_evaluation_results" not in ours


def test_a_record_whose_store_is_gone_is_still_logged(logs):
    _, ours, rows, written = logs(account(OURS, (0.3, "f" * 64)), by="A Lab")
    assert ours["source_metadata"]["source_organization_name"] == "A Lab"
    assert (score_of(ours)["score"], rows, written.without_queries) == (0.3, [], [OURS])
    assert ours["source_metadata"]["evaluator_relationship"] == "other"


def test_who_evaluated_whom_follows_from_roles_and_from_what_was_trained(logs, store):
    trained = evaluated(store, SCORES, made_by="finetune")
    published, ours, _, _ = logs(account(OURS, (0.4375, trained)))
    relations = [log["source_metadata"]["evaluator_relationship"] for log in (published, ours)]
    assert relations == ["first_party", "first_party"]
    assert published["model_info"]["id"] == "costa/costa.1.hardneg.costa"
    assert ours["model_info"]["id"] == "repro-bench/costa.1.hardneg.costa"
    published, ours, _, _ = logs(account(CITED, (0.4375, evaluated(store, SCORES))))
    relations = [log["source_metadata"]["evaluator_relationship"] for log in (published, ours)]
    assert relations == ["other", "third_party"]
    assert published["model_info"]["id"] == ours["model_info"]["id"] == "unknown/costa.1.sparse.deepct"


def test_another_scale_is_another_model_on_another_collection(logs, store):
    _, ours, _, _ = logs(account(OURS, (0.4375, evaluated(store, SCORES)), scale="tiny"))
    assert ours["model_info"]["id"].endswith(".tiny")
    assert ours["evaluation_results"][0]["source_data"]["dataset_name"] == "tiny/passage/dev"
    assert not [name for name in score_of(ours)["details"] if name.startswith("documents of a query")]
    [short] = account(OURS, (0.4375, evaluated(store, SCORES)), scale="tiny")
    _, ours, _, _ = logs([replace(short, compared=replace(short.compared, cut_at=9))])
    assert score_of(ours)["details"]["documents of a query, fewer than the measure looks at"] == "9"
    _, ours, _, _ = logs(account(OURS, (0.4375, "f" * 64), scale="tiny"))
    named = "stand-in for msmarco-passage/dev/small at scale tiny"
    assert ours["evaluation_results"][0]["source_data"]["dataset_name"] == named


def test_a_number_that_is_no_mean_of_a_measure_is_left_out(logs):
    identifier = "simlm/3/colbert-v2/index-size"
    assert logs(account(identifier, (20.0, "f" * 64)))[3].left_out == [identifier]


def test_the_same_record_has_the_same_id_and_another_one_another(logs, store):
    fingerprint = evaluated(store, SCORES)
    ids = [logs(account(OURS, (value, fingerprint)))[1]["evaluation_id"] for value in (0.4375, 0.4375, 0.5)]
    assert [a == b for a, b in pairwise(ids)] == [True, False]
