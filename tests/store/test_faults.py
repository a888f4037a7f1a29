"""Whatever fails between two steps, a store serves only what was written."""

import errno
import functools
import json
import os
import shutil
import signal
import sys

import pytest

from repro.errors import StoreError
from repro.graph import Node
from repro.store import RECORD, Store, remove
from repro.store.seal import damage, read_json

NODE = Node("corpus", {"dataset": "x"})
OTHER = Node("corpus", {"dataset": "y"})
FILES = {"arrow/data.arrow": "rows and rows", "arrow/state.json": "{}", "about.json": '{"count": 2}'}
_WRITES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.truncate"}
_hook = {"root": None, "fault": None, "left": 0}


def _touches(event, arguments):
    root = _hook["root"]
    if root is None or not arguments or not str(arguments[0]).startswith(root):
        return False
    return event in _WRITES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _step():
    _hook["left"] -= 1
    if _hook["left"] == 0:
        _hook["fault"]()


@functools.cache
def _listen():
    """Audit hooks cannot be taken away again: there is one, which does nothing while no folder is guarded."""
    real = os.fsync

    def fsync(handle):  # is not audited
        if _hook["root"] is not None:
            _step()
        return real(handle)

    sys.addaudithook(lambda event, arguments: _step() if _touches(event, arguments) else None)
    return fsync


@pytest.fixture
def at_step(monkeypatch):
    """``at_step(folder, n, fault)``: the n-th call that writes below the folder meets the fault."""
    monkeypatch.setattr(os, "fsync", _listen())

    def guard(folder, number, fault):
        _hook.update(root=None if folder is None else str(folder), left=number, fault=fault)

    yield guard
    guard(None, 0, None)


def write(directory):
    for name, text in FILES.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    return {"count": 2}


def build(store, node=NODE, work=write):
    return store.build(node, work)


def intact(path):
    return damage(path) == [] and all((path / name).read_text() == text for name, text in FILES.items())


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)


def test_killed_before_any_step_of_writing_nothing_false_is_served_and_the_next_attempt_completes(
    tmp_path, at_step
):
    kills, states = 0, set()
    while True:
        root = tmp_path / str(kills)
        child = os.fork()
        if child == 0:
            at_step(root, kills + 1, _kill)
            build(Store(root))
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            break
        kills += 1
        store = Store(root)
        states.add(store.state(NODE))
        assert store.state(NODE) != "stored" or intact(store.path(NODE)), kills
        assert intact(build(store)), kills
    assert kills >= 12 and states == {"missing", "partial", "stored"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_refused_at_any_step_of_writing_it_is_one_sentence_and_with_space_the_build_completes(
    tmp_path, at_step, number
):
    def refuse():
        raise OSError(number, os.strerror(number))

    steps = refusals = 0
    while _hook["left"] <= 0:  # until a build has fewer steps than that
        steps += 1
        store = Store(tmp_path / str(steps))
        at_step(store.root, steps, refuse)
        try:
            build(store)
        except StoreError as error:
            assert "cannot be used" in str(error) and "--store" in str(error)
            refusals += 1
        _hook["root"] = None
        assert store.state(NODE) != "stored" or intact(store.path(NODE)), steps
        assert intact(build(store)), steps
    assert refusals >= 12


def _torn(how):
    def harm(path):
        file = path / "arrow/data.arrow"
        content = file.read_bytes()
        file.write_bytes(
            {
                "shorter": content[:5],
                "longer": content + b"x",
                "empty": b"",
                "zeroed": bytes(len(content)),
                "edited": b"R" + content[1:],
            }[how]
        )

    return harm


def _record(**changes):
    def harm(path):
        record = json.loads((path / RECORD).read_text())
        (path / RECORD).write_text(json.dumps({**record, **changes}))

    return harm


def _of_another(path):
    shutil.rmtree(path)
    shutil.copytree(build(Store(path.parent.parent), OTHER), path)


HARMS = {
    "shorter": (_torn("shorter"), "data.arrow has 5 bytes, 13 were written"),
    "longer": (_torn("longer"), "data.arrow has 14 bytes"),
    "empty": (_torn("empty"), "data.arrow has 0 bytes"),
    "zeroed": (_torn("zeroed"), "data.arrow is altered"),
    "edited": (_torn("edited"), "data.arrow is altered"),
    "deleted": (lambda path: (path / "about.json").unlink(), "about.json is missing"),
    "added": (lambda path: (path / "arrow/more").write_text(""), "arrow/more was added"),
    "no record": (lambda path: (path / RECORD).unlink(), "artefact.json cannot be read"),
    "half a record": (lambda path: os.truncate(path / RECORD, 40), "artefact.json cannot be read"),
    "a zeroed record": (lambda path: (path / RECORD).write_bytes(bytes(99)), "artefact.json cannot be read"),
    "changed facts": (_record(facts={"count": 3}), "artefact.json is altered"),
    "no checksum of its own": (_record(sha256=None), "artefact.json is altered"),
    "changed identity": (_record(identity={"stage": "corpus"}), "another artefact's, or its identity"),
    "changed fingerprint": (_record(fingerprint="0" * 64), "another artefact's, or its identity"),
    "a number for a name": (_record(files=[1]), "artefact.json cannot be read"),
    "another artefact": (_of_another, "another artefact's, or its identity"),
}


@pytest.mark.parametrize("name", HARMS)
def test_what_was_done_to_an_artefact_is_named_and_never_built_upon(tmp_path, name):
    store = Store(tmp_path)
    path = build(store)
    assert intact(path)
    harm, words = HARMS[name]
    harm(path)
    assert words in "; ".join(damage(path))
    above = Node("lucene_index", {"multifield": False}, {"corpus": NODE})
    with pytest.raises(StoreError, match=r"damaged: .*repro store verify --rebuild"):
        build(store, above)
    assert store.state(above) != "stored"
    takes_reading = name in ("zeroed", "edited", "added")
    assert store.state(NODE) == ("stored" if takes_reading else "damaged")
    if not takes_reading:
        with pytest.raises(StoreError, match="damaged"):
            build(store)
    store.discard(NODE)
    assert intact(build(store)) and build(store, above)


def test_an_input_edited_between_two_builds_of_one_process_is_noticed(tmp_path):
    store = Store(tmp_path)
    file = build(store) / "about.json"
    build(store, Node("lucene_index", {"multifield": False}, {"corpus": NODE}))
    file.write_text('{"count": 9}')
    with pytest.raises(StoreError, match=r"about\.json is altered"):
        build(store, Node("lucene_index", {"multifield": True}, {"corpus": NODE}))


def test_a_value_edited_behind_the_records_back_is_not_read(tmp_path):
    file = build(Store(tmp_path)) / "about.json"
    assert read_json(file) == {"count": 2}
    file.write_text('{"count": 9}')
    with pytest.raises(StoreError, match="it is altered"):
        read_json(file)


def test_removing_a_link_leaves_what_it_leads_to(tmp_path):
    path = build(Store(tmp_path / "theirs"))
    link = tmp_path / "link"
    link.symlink_to(path)
    remove(link)
    assert not link.is_symlink() and intact(path)


def test_a_link_that_a_stage_leaves_is_refused(tmp_path):
    def work(directory):
        (directory / "link").symlink_to("/etc/hostname")

    store = Store(tmp_path)
    with pytest.raises(StoreError, match="is a link\\. Remove"):
        build(store, work=work)
    assert store.state(NODE) == "partial"


def test_torn_files_of_an_interrupted_attempt_do_not_reach_the_artefact(tmp_path):
    store = Store(tmp_path)
    build(store)
    store.path(NODE).rename(store.partial(NODE))  # as if killed between the last two steps, then a power cut
    (store.partial(NODE) / "about.json").write_bytes(bytes(3))
    os.truncate(store.partial(NODE) / RECORD, 10)
    assert store.state(NODE) == "partial"
    assert intact(build(store))


@pytest.mark.parametrize("inputs", [{"corpus": "../../outside"}, {"corpus": "itself"}, {"corpus": 3}, []])
def test_a_note_that_leads_outside_or_to_itself_is_refused(tmp_path, inputs):
    store = Store(tmp_path / "s")
    above = Node("lucene_index", {"multifield": False}, {"corpus": NODE})
    store.remember([NODE, above])
    notes = store.root / "nodes"
    (tmp_path / "s/outside.json").write_text((notes / f"{NODE.fingerprint}.json").read_text())
    given = {"corpus": above.fingerprint} if inputs == {"corpus": "itself"} else inputs
    note = notes / f"{above.fingerprint}.json"
    note.write_text(json.dumps({"stage": above.stage, "params": dict(above.params), "inputs": given}))
    with pytest.raises(StoreError, match="damaged or of another version"):
        store.remembered(above.fingerprint)
