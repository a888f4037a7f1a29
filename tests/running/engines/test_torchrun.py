from __future__ import annotations

import json
from pathlib import Path

import pytest

from repro.graph import Node
from repro.retrieval.training.process_group import everybody_waits, rank
from repro.running.engines.shared_work import build
from repro.store import Store

SHARED = Node("pretrain", {"objective": {"name": "none", "version": 1, "path": "none:None"}})
LONE = Node("corpus", {"dataset": "x"})


def silent() -> None:
    pass


def built(folder: Path) -> None:
    """Both processes build a shared stage, then one of the first alone, then what is stored."""
    store, paths = Store(folder / "store"), []

    def work(directory: Path) -> dict:
        (directory / f"by {rank()}").write_text("here")
        everybody_waits()  # as a training does: neither may be without the other
        return {"rank": rank()}

    def alone(directory: Path) -> dict:
        (directory / f"by {rank()}").write_text("here")
        return {"rank": rank()}

    def never(directory: Path) -> dict:
        raise AssertionError("it is stored")

    for node, way in ((SHARED, work), (LONE, alone), (SHARED, never)):
        paths.append(str(build(node, store, way, waiting=silent)))
        paths.append(store.state(node))
    (folder / f"paths {rank()}").write_text(json.dumps(paths))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, in_two_processes):
    made = tmp_path_factory.mktemp("together")
    in_two_processes(built, made)
    return made


def test_both_processes_work_in_one_directory_and_the_first_seals_it(folder):
    store = Store(folder / "store")
    assert store.record(SHARED)["facts"] == {"rank": 0}
    assert set(store.record(SHARED)["files"]) == {"by 0", "by 1"}
    assert store.state(SHARED) == "stored" and not store.partial(SHARED).exists()


def test_of_a_stage_that_is_not_shared_the_first_process_does_all(folder):
    assert set(Store(folder / "store").record(LONE)["files"]) == {"by 0"}


def test_every_process_gets_the_path_once_the_artefact_is_stored(folder):
    told = [json.loads((folder / f"paths {process}").read_text()) for process in (0, 1)]
    store = Store(folder / "store")
    expected = [word for node in (SHARED, LONE, SHARED) for word in (str(store.path(node)), "stored")]
    assert told == [expected, expected]


def test_one_process_builds_as_the_store_does(tmp_path):
    store = Store(tmp_path)
    path = build(LONE, store, lambda directory: {"rank": rank()}, waiting=silent)
    assert path == store.path(LONE) and store.record(LONE)["facts"] == {"rank": 0}
