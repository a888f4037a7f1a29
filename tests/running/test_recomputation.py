import json
import shutil

import numpy as np
import pytest

from repro.errors import BlockedError
from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.stages import evaluate
from repro.running.recomputation import Agreement, agreement, draw, recompute
from tests.vector_store import forge, vector_store


@pytest.fixture
def made(tmp_path):
    return vector_store(tmp_path / "store")


def _again(store, **options):
    sample = draw(store, **{"size": 9, "seed": 0} | options)
    return {one.stage: one for one in recompute(sample, store, Progress())}


def _files(store):
    return {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}


def test_what_the_stages_made_agrees_to_the_bit_and_nothing_is_written(made):
    store, _ = made
    before = _files(store)
    again = _again(store)
    assert {stage: one.agreement for stage, one in again.items()} == dict.fromkeys(
        ("search", "mine", "evaluate"), "bits"
    )
    assert _files(store) == before
    assert all(one.other_code == [] for one in again.values())


def test_a_score_that_was_changed_together_with_its_checksums_is_found(made):
    store, nodes = made
    text = (store.path(nodes["evaluate"]) / "scores.json").read_text()
    scores = json.loads(text)
    scores["measures"]["RR@10"][0] += 1e-9
    forge(store, nodes["evaluate"], "scores.json", json.dumps(scores, ensure_ascii=False))
    assert store.state(nodes["evaluate"]) == "stored"
    again = _again(store)
    assert {one.agreement for stage, one in again.items() if stage != "evaluate"} == {"bits"}
    assert again["evaluate"].agreement == "none"
    assert again["evaluate"].why == "scores.json: 1 of 12 numbers differ, by at most 1e-09"


def test_last_bits_of_a_logarithm_agree_to_the_tolerance_and_those_of_a_search_do_not(made):
    store, nodes = made
    scores = json.loads((store.path(nodes["evaluate"]) / "scores.json").read_text())
    scores["measures"]["nDCG@10"][0] += 1e-14
    forge(store, nodes["evaluate"], "scores.json", json.dumps(scores, ensure_ascii=False))
    lines = (store.path(nodes["search"]) / "run.trec").read_text().splitlines(keepends=True)
    fields = lines[0].split()
    fields[4] = repr(float(fields[4]) * (1 + 1e-7))
    forge(store, nodes["search"], "run.trec", " ".join(fields) + "\n" + "".join(lines[1:]))
    again = _again(store)
    assert again["evaluate"].agreement == "tolerance" and 0 < again["evaluate"].difference < 1e-13
    assert again["search"].agreement == "none" and again["mine"].agreement == "bits"


def test_the_sample_follows_from_the_seed(made):
    store, nodes = made
    for depth in range(1, 9):
        other = Node("search", {"depth": depth}, nodes["search"].inputs)
        store.build(other, lambda out: None)
    drawn = [[n.fingerprint for n in draw(store, size=4, seed=seed).nodes] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    sample = draw(store, size=4, seed=0)
    assert sample.of == {"search": 9, "mine": 1, "evaluate": 1} and len(sample.nodes) == 6
    assert sample.left_out == {"qrels": 1, "encode": 2}


def test_records_are_enough_where_there_are_no_notes_as_far_as_inputs_are_stored(made):
    store, nodes = made
    shutil.rmtree(store.root / "nodes")
    assert draw(store, size=9, seed=0).nodes == []
    store.remember(nodes["passages"].parents())
    assert {n.stage for n in draw(store, size=9, seed=0).nodes} == {"search", "mine", "evaluate"}


def test_an_artefact_of_an_earlier_version_is_left_out(made, monkeypatch):
    from dataclasses import replace

    from repro.stage_table import STAGES

    store, _ = made
    monkeypatch.setitem(STAGES, "search", replace(STAGES["search"], version=99))
    sample = draw(store, size=9, seed=0)
    assert sample.nodes == [] and sample.left_out["search"] == 1


@pytest.mark.parametrize(
    "error, agreement", [(BlockedError("no Java", "install one"), "blocked"), (ValueError("no"), "failed")]
)
def test_a_stage_that_fails_or_lacks_something_says_so(made, monkeypatch, error, agreement):
    def fails(*_):
        raise error

    monkeypatch.setattr(evaluate, "run", fails)
    one = _again(made[0])["evaluate"]
    assert one.agreement == agreement and str(error) in one.why


@pytest.fixture
def folders(tmp_path):
    """``folders(write)``: two folders, of which ``write(folder, True)`` makes the second different."""

    def make(write):
        for name, other in (("stored", False), ("again", True)):
            (tmp_path / name).mkdir()
            write(tmp_path / name, other)
        return tmp_path / "stored", tmp_path / "again"

    return make


def _vectors(folder, other):
    np.save(folder / "vectors.npy", np.float32([[1, -8], [2, 3]]) + other * np.float32([[0, 0], [8e-6, 0]]))


def _scores(folder, other):
    (folder / "scores.json").write_text(json.dumps({"queries": ["1"], "RR": [0.5 - other * 1e-12]}))


def _run(folder, other):
    (folder / "run.trec").write_text(f"1 Q0 a 1 {2.5 + other * 1e-6} x\n1 Q0 b 2 1.5 x\n")


def _rows(folder, other):
    from datasets import Dataset

    Dataset.from_dict({"id": ["a"], "scores": [[4.0 + other * 1e-6]]}).save_to_disk(str(folder / "arrow"))


def _weights(folder, other):
    from safetensors.numpy import save_file

    save_file({"w": np.float32([4, 4 + other * 1e-6])}, folder / "model.safetensors")


@pytest.mark.parametrize("write", [_vectors, _scores, _run, _rows, _weights])
def test_numbers_agree_within_a_tolerance_of_the_greatest_magnitude(folders, write):
    stored, again = folders(write)
    close = agreement(stored, again, tolerance=1e-5)
    assert close.name == "tolerance" and 0 < close.difference < 2e-6 and close.why == ""
    strict = agreement(stored, again, tolerance=0.0)
    assert (strict.name, strict.difference) == ("none", close.difference)
    assert "numbers differ, by at most" in strict.why
    assert agreement(stored, stored, tolerance=0.0) == Agreement("bits")


@pytest.mark.parametrize(
    "name, one, other, why",
    [
        (
            "run.trec",
            "1 Q0 a 1 2.5 x\n1 Q0 b 2 1.5 x\n",
            "1 Q0 b 1 2.5 x\n1 Q0 a 2 1.5 x\n",
            "it differs in more than its numbers",
        ),
        ("scores.json", "[1.0]", "[NaN]", "1 of 1 numbers"),
        ("scores.json", "[1.0]", "[1.0", "it differs in more than its numbers"),
    ],
)
def test_what_differs_in_more_than_numbers_never_agrees(folders, name, one, other, why):
    stored, again = folders(lambda folder, second: (folder / name).write_text(other if second else one))
    compared = agreement(stored, again, tolerance=1.0)
    assert (compared.name, compared.difference) == ("none", None)
    assert compared.why.startswith(f"{name}: {why}")


def test_equal_content_in_other_bytes_is_not_equal_to_the_bit(folders):
    stored, again = folders(
        lambda folder, other: (folder / "a.json").write_text(json.dumps([1], indent=int(other)))
    )
    assert agreement(stored, again, tolerance=0.0) == Agreement("tolerance", 0.0)


def test_a_file_that_only_one_has_is_a_difference_and_a_log_of_the_work_is_none(folders):
    def write(folder, other):
        (folder / "lucene.log").write_text(f"{other}")
        (folder / "blocks").mkdir()
        (folder / "blocks" / f"{other}").touch()
        (folder / "artefact.json").write_text(f"{other}")

    stored, again = folders(write)
    assert agreement(stored, again, tolerance=0.0) == Agreement("bits")
    (again / "more.txt").touch()
    assert agreement(stored, again, tolerance=0.0).why == "only one of the two has more.txt"
