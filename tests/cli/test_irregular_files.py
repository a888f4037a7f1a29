"""A pipe, a link or a name that leaves the folder is damage."""

import json
import os

import pytest

from repro.store.seal import _checksum, damage, wrong_sizes
from tests.cli.conftest import CELL, rewrite_record

SELECTION = f"{CELL} --scale tiny"


@pytest.fixture
def scores(measured):
    [folder] = (measured / "store/evaluate").glob("[0-9a-f]*")
    return folder


def listed(folder, name, size):
    record = json.loads((folder / "artefact.json").read_text())
    record["files"][name] = {"size": size, "sha256": "0" * 64}
    (folder / "artefact.json").write_text(json.dumps(record | {"sha256": _checksum(record)}))


@pytest.mark.parametrize("name", ["artefact.json", "scores.json"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_an_irregular_file_is_damage_at_every_outlet(repro, scores, name, kind):
    if name == "scores.json":
        listed(scores, name, 0)
    (scores / name).unlink()
    os.mkfifo(scores / name) if kind == "pipe" else (scores / name).symlink_to("/dev/null")
    assert damage(scores) == wrong_sizes(scores) != []
    assert repro("store verify").status == 2
    said = repro(f"compare {SELECTION}")
    assert said.status == 0 and f"damaged: {scores}" in said.err


@pytest.mark.parametrize("name", ["../../x", "/dev/null", "a/../../x"])
def test_a_name_that_leaves_the_folder_is_damage(scores, name):
    listed(scores, name, 0)
    assert wrong_sizes(scores) == ["artefact.json cannot be read"]


def test_a_file_in_a_linked_folder_is_damage(scores, tmp_path):
    (tmp_path / "x").touch()
    (scores / "linked").symlink_to(tmp_path)
    listed(scores, "linked/x", 0)
    assert wrong_sizes(scores) == ["linked/x is in a folder that is a link"]


def test_records_in_a_pipe_are_refused(repro, measured):
    path = measured / "results/records/tiny/costa.jsonl"
    path.unlink()
    os.mkfifo(path)
    assert "not a regular file" in repro(f"compare {SELECTION}").refusal


WRONG = [
    {"software": ["torch"]},
    {"hardware": "x", "kernels": "x"},
    {"hardware": {"gpu": 5}},
    {"hardware": {"cpu": ["x"]}},
    {"hardware": {"cores": "two"}},
    {"kernels": {"pins": 5}},
]


@pytest.mark.parametrize("environment", WRONG, ids=str)
def test_a_record_with_an_environment_of_another_shape_is_refused(repro, measured, environment):
    path = measured / "results/records/tiny/costa.jsonl"
    rewrite_record(path, environment=json.loads(path.read_text())["environment"] | environment)
    for words in (f"compare {SELECTION}", f"report costa --scale tiny -o {measured}/a.html"):
        said = repro(words)
        assert "costa.jsonl:1: " in said.refusal and "environment" in said.sentence


def test_a_record_of_countless_queries_is_refused(repro, measured):
    rewrite_record(measured / "results/records/tiny/costa.jsonl", queries=10**400)
    assert repro(f"compare {SELECTION} --format csv").status == 2
