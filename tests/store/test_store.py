import errno
import json
import os
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

from repro.errors import StoreError, UsageError
from repro.graph import Node
from repro.store import RECORD, Store, notes
from repro.store.disk import MEGABYTE
from tests.noted import Noted

NODE = Node("corpus", {"dataset": "x"})


def _write(text):
    def work(directory: Path):
        (directory / "file.txt").write_text(text)
        return {"count": 3}

    return work


def _build(store, work, node=NODE):
    return store.build(node, work)


def test_an_artefact_appears_whole_with_checksums_and_facts(tmp_path):
    store = Store(tmp_path)
    path = _build(store, _write("hello"))
    record = json.loads((path / RECORD).read_text())
    assert store.state(NODE) == "stored"
    assert record["facts"] == {"count": 3}
    assert record["files"]["file.txt"]["size"] == 5
    assert not store.partial(NODE).exists()


def test_who_shares_a_store_can_read_what_libraries_write_for_their_owner_alone(tmp_path):
    def work(directory):
        (directory / "model").mkdir()
        (directory / "model/weights").touch(0o600)

    before = os.umask(0o022)
    try:
        path = _build(Store(tmp_path), work)
    finally:
        os.umask(before)
    assert path.joinpath("model/weights").stat().st_mode & 0o777 == 0o644


def test_sealing_and_the_check_of_inputs_tell_every_megabyte(tmp_path):
    def work(directory):
        (directory / "large").write_bytes(bytes(2 * MEGABYTE + 1))
        (directory / "small").write_bytes(b"x")
        (directory / "empty").touch()

    index, noted = Node("lucene_index", {}, {"corpus": NODE}), Noted()
    _build(Store(tmp_path, noted), work)
    assert noted.tasks == {f"sealing {NODE}, MB": [4, 4]}
    _build(Store(tmp_path, noted), _write("hello"), index)
    assert noted.tasks[f"checking {NODE}, MB"] == [4, 4]
    assert noted.tasks[f"sealing {index}, MB"] == [1, 1]


def test_a_failed_attempt_leaves_a_partial_directory_that_the_next_one_sees(tmp_path):
    store = Store(tmp_path)

    def fail(directory):
        (directory / "half.txt").write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        _build(store, fail)
    assert store.state(NODE) == "partial"
    seen = []
    _build(store, lambda directory: seen.append(sorted(p.name for p in directory.iterdir())))
    assert seen == [["half.txt"]]


def test_an_interrupted_attempt_goes_on_from_the_inputs_it_began_with_and_from_no_others(tmp_path):
    def killed(directory):
        (directory / "vectors").write_text("half")
        raise KeyboardInterrupt

    store, index, seen = Store(tmp_path), Node("lucene_index", {}, {"corpus": NODE}), []
    for text in ("one", "one", "another"):
        _build(store, _write(text))
        for beside in (False, True):
            for _ in range(2):
                way = store.work_beside if beside else store.build
                with pytest.raises(KeyboardInterrupt):
                    way(index, lambda d: seen.append((d / "vectors").exists()) or killed(d))
        store.discard(NODE)
    assert seen == [False, *[True] * 7, False, *[True] * 3]
    with pytest.raises(KeyboardInterrupt):
        _build(store, lambda d: seen.append((d / "vectors").exists()) or killed(d), index)
    assert seen[-1]
    _build(store, _write("yet another"))
    path = _build(store, lambda d: _write("all")(d) if not (d / "vectors").exists() else killed(d), index)
    assert sorted(file.name for file in path.iterdir()) == [RECORD, "file.txt"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "no space is left"), (errno.EROFS, "read-only"), (errno.EACCES, "may not be written")],
)
def test_a_full_or_read_only_disk_is_one_sentence(tmp_path, number, words):
    store = Store(tmp_path)

    def work(directory):
        raise OSError(number, "no")

    with pytest.raises(StoreError, match=words):
        _build(store, work)


def test_a_store_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        Store(tmp_path / "file" / "store")


def test_two_processes_building_one_artefact_build_it_once(tmp_path):
    code = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from repro.graph import Node
        from repro.store import Store
        def work(directory):
            with open(Path(sys.argv[1]) / "built.log", "a") as log:
                log.write("built\\n")
            time.sleep(0.3)
            (directory / "file.txt").write_text("x")
        Store(Path(sys.argv[1]) / "store").build(Node("corpus", {"dataset": "x"}), work)
    """)
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [c.wait() for c in children] == [0, 0, 0]
    assert (tmp_path / "built.log").read_text() == "built\n"


def test_a_holder_killed_while_building_does_not_lock_others_out(tmp_path):
    code = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from repro.graph import Node
        from repro.store import Store
        def work(directory):
            (directory / "half.txt").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
        Store(Path(sys.argv[1])).build(Node("corpus", {"dataset": "x"}), work)
    """)
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == -9
    store = Store(tmp_path)
    assert store.state(NODE) == "partial"
    _build(store, _write("whole"))
    assert store.state(NODE) == "stored"


def test_a_node_is_remembered_with_its_inputs(tmp_path):
    store = Store(tmp_path)
    graph = Node("compare", {"names": ["a"]}, {"runs": (NODE,), "qrels": Node("qrels", {"dataset": "y"})})
    store.remember([NODE, graph.inputs["qrels"], graph])
    assert store.remembered(graph.fingerprint[:10]).fingerprint == graph.fingerprint
    with pytest.raises(UsageError, match="no stage"):
        store.remembered("0000")


def test_a_note_is_not_written_through_a_link(tmp_path):
    store, victim = Store(tmp_path / "s"), tmp_path / "victim"
    victim.write_text("mine")
    note = store.root / "nodes" / f"{NODE.fingerprint}.json"
    note.parent.mkdir(parents=True)
    note.symlink_to(victim)
    note.with_suffix(f".{os.getpid()}").symlink_to(victim)
    store.remember([NODE])
    assert victim.read_text() == "mine" and not note.is_symlink()
    assert store.remembered(NODE.fingerprint).fingerprint == NODE.fingerprint


@pytest.mark.parametrize("folder", ["blocks", "checkpoints"])
def test_what_an_interrupted_stage_goes_on_by_outlives_a_kill_while_it_is_sealed(
    tmp_path, monkeypatch, folder
):
    store = Store(tmp_path)
    found = []

    def work(out):
        found.append((out / folder / "half").exists())
        (out / folder).mkdir(exist_ok=True)
        (out / folder / "half").write_text("half")
        (out / "whole").write_text("whole")

    def killed(file, advance):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(import_module("repro.store.seal"), "sha256", killed)
        _build(store, work)
    made = _build(store, work)
    assert found == [False, True]
    assert not (made / folder).exists() and store.record(NODE)["files"].keys() == {"whole"}


def test_a_note_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(notes.disk, "sync", lambda path: synced.append((path.stem, path.exists())))
    node = Node("corpus", {"dataset": "x"})
    Store(tmp_path).remember([node])
    assert synced == [(node.fingerprint, True)]
    assert Store(tmp_path).remembered(node.fingerprint).fingerprint == node.fingerprint
