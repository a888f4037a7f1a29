import os
import subprocess
import sys
import textwrap
import time

import pytest

from repro.graph import Node
from repro.store import RECORD, Store, disk
from repro.store.leftovers import DAY, leftovers, remove_damaged, remove_leftover
from repro.store.notes import Lineage
from repro.store.underway import exclusive_lock

CORPUS = Node("corpus", {"dataset": "x"})
INDEX = Node("lucene_index", {"multifield": False}, {"corpus": CORPUS})
OTHER = Node("corpus", {"dataset": "y"})


def write(directory):
    (directory / "file").write_text("hello")


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "s")
    store.remember([CORPUS, OTHER, INDEX])
    for node in (CORPUS, OTHER):
        store.build(node, write)
    age(store, 100)
    return store


def age(store, days):
    then = time.time() - days * DAY
    for path in store.root.rglob("*"):
        os.utime(path, (then, then))


def found(store, *needed, keep_days=14):
    items = leftovers(store, {n.fingerprint for n in needed}, keep_days=keep_days)
    return {(item.kind, item.stage, item.fingerprint) for item in items}


def collect(store, *needed, keep_days=14):
    items = leftovers(store, {n.fingerprint for n in needed}, keep_days=keep_days)
    return [item for item in items if remove_leftover(store, item)]


def test_what_is_not_needed_is_found_with_its_bytes_and_nothing_is_touched(store):
    before = {p: p.lstat().st_mtime for p in store.root.rglob("*")}
    items = leftovers(store, {CORPUS.fingerprint}, keep_days=14)
    [artefact] = [item for item in items if item.kind == "artefact"]
    assert artefact.path == store.path(OTHER)
    assert artefact.bytes == sum(p.stat().st_size for p in artefact.path.iterdir())
    assert {p: p.lstat().st_mtime for p in store.root.rglob("*")} == before


def test_what_is_needed_stays_and_the_rest_goes_with_note_and_lock(store):
    collect(store, CORPUS)
    assert store.state(CORPUS) == "stored" and store.state(OTHER) == "missing"
    assert [p.stem for p in (store.root / "nodes").iterdir()] == [CORPUS.fingerprint]
    assert list((store.root / "locks").iterdir()) == []
    assert collect(store, CORPUS) == []


def test_what_is_young_stays_and_so_it_does_with_the_clock_set_back(store):
    age(store, 13)
    assert found(store) == set()
    age(store, -13)  # written in what is now the future
    assert found(store) == set()
    assert len(found(store, keep_days=-14)) == 7


def test_what_was_asked_for_lately_stays_with_what_is_below_it(store):
    store.remember([INDEX])
    collect(store)
    assert store.state(CORPUS) == "stored" and store.state(OTHER) == "missing"
    names = {INDEX.fingerprint, CORPUS.fingerprint}
    assert {p.stem for p in (store.root / "nodes").iterdir()} == names


def test_what_lies_below_is_known_from_a_record_where_the_note_is_gone_or_torn(store):
    store.build(INDEX, write)
    ((store.root / "nodes") / f"{INDEX.fingerprint}.json").write_text('{"stage"')
    assert Lineage(store.root).below([INDEX.fingerprint]) == {INDEX.fingerprint, CORPUS.fingerprint}
    age(store, 100)
    collect(store, INDEX)
    assert store.state(CORPUS) == "stored" and store.state(OTHER) == "missing"


def test_killed_while_it_removes_it_leaves_nothing_that_counts_and_that_goes_later(store, monkeypatch):
    def killed(path, **options):
        if path.exists():
            (path / RECORD).unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(disk.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            store.discard(OTHER)
    assert store.state(OTHER) == "missing"
    [rest] = store.path(OTHER).parent.glob("*.gone")
    store.build(OTHER, write)
    age(store, 100)
    assert rest in {item.path for item in collect(store, CORPUS, OTHER)}
    assert not rest.exists() and store.state(OTHER) == "stored"


def test_an_artefact_that_was_built_again_since_it_was_found_damaged_stays(store):
    assert remove_damaged(store, store.path(CORPUS)) and store.state(CORPUS) == "stored"
    (store.path(CORPUS) / "file").write_text("other")
    with exclusive_lock(store.root, CORPUS):
        assert not remove_damaged(store, store.path(CORPUS))
    assert store.state(CORPUS) == "stored"
    assert remove_damaged(store, store.path(CORPUS)) and store.state(CORPUS) == "missing"


def test_an_old_partial_goes_and_one_that_was_just_written_into_stays(store):
    other = Node("qrels", {"dataset": "x"})
    for node in (INDEX, other):
        folder = store.partial(node)
        (folder / "deep").mkdir(parents=True)
        (folder / "deep/half").write_text("half")
    age(store, 100)
    os.utime(store.partial(INDEX) / "deep/half")
    partials = [item.path for item in collect(store, CORPUS, OTHER, INDEX) if item.kind == "partial"]
    assert partials == [store.partial(other)]
    assert store.state(INDEX) == "partial"


@pytest.mark.parametrize("asked", ["in a plan", "by nobody"])
def test_what_there_is_of_an_artefact_stays_while_the_rest_waits(store, asked):
    for folder in (store.partial(INDEX), store.path(INDEX).with_suffix(".partial.gone")):
        (folder / "blocks").mkdir(parents=True)  # the gone one is being removed, whoever waits
    age(store, 100)
    if asked == "in a plan":
        store.remember([INDEX])
    items = leftovers(store, {INDEX.fingerprint}, keep_days=14)
    partial = {item.path.name.partition(".")[2] for item in items if item.kind == "partial"}
    assert partial == {"partial.gone"} | ({"partial"} if asked == "by nobody" else set())
    assert store.path(CORPUS) not in {item.path for item in items}


def test_an_imported_run_and_what_is_not_the_stores_own_stay(store):
    run = Node("imported_run", {"source": "x"})
    store.build(run, write)
    for name in ("corpus/readme.txt", "notes/mine.txt", "digests.json", "corpus/" + "a" * 63):
        (store.root / name).parent.mkdir(exist_ok=True)
        (store.root / name).write_text("")
    age(store, 100)
    gone = {item.path for item in collect(store)}
    assert store.state(run) == "stored"
    kept = ("corpus/readme.txt", "notes/mine.txt", "digests.json", "corpus/" + "a" * 63)
    assert all((store.root / name).exists() for name in kept)
    assert store.path(OTHER) in gone


def test_of_a_linked_artefact_only_the_link_goes(store, tmp_path):
    moved = tmp_path / "moved"
    store.path(OTHER).rename(moved)
    store.path(OTHER).symlink_to(moved)
    collect(store, CORPUS, keep_days=-1)
    assert not store.path(OTHER).is_symlink() and (moved / "file").exists()


def test_what_a_process_builds_and_its_inputs_stay_until_it_is_gone(store, tmp_path):
    code = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from repro.store import Store
        store = Store(Path(sys.argv[1]))
        def work(directory):
            print("building", flush=True)
            time.sleep(600)
        store.build(store.remembered(sys.argv[2]), work)
    """)
    started = [sys.executable, "-c", code, str(store.root), INDEX.fingerprint]
    child = subprocess.Popen(started, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "building\n"
        age(store, 100)
        items = leftovers(store, set(), keep_days=14)
        assert {i.fingerprint for i in items if i.kind == "artefact"} == {OTHER.fingerprint}
        assert not any(i.fingerprint == INDEX.fingerprint for i in items)
        early = leftovers(store, set(), keep_days=14)  # listed before the process took hold of what it needs
        listed = [type(early[0])("artefact", store.path(CORPUS), "corpus", CORPUS.fingerprint, 0)]
        listed += [type(early[0])("partial", store.partial(INDEX), INDEX.stage, INDEX.fingerprint, 0)]
        assert [remove_leftover(store, item) for item in listed] == [False, False]
    finally:
        child.kill()
        child.communicate()
    collect(store)
    assert store.state(CORPUS) == "missing" and store.state(INDEX) == "missing"


@pytest.mark.parametrize("kind", ["artefact", "lock"])
def test_what_was_listed_and_is_locked_since_stays(store, kind):
    items = [i for i in leftovers(store, set(), keep_days=14) if i.fingerprint == CORPUS.fingerprint]
    [item] = [i for i in items if i.kind == kind]
    with exclusive_lock(store.root, CORPUS):
        assert not remove_leftover(store, item)
        assert item.path.exists()
    assert remove_leftover(store, item)
    assert not item.path.exists()


def test_two_that_wait_for_a_lock_whose_file_goes_do_not_both_get_it(store, tmp_path):
    """A lock on a file without a name guards nothing: whoever gets it must try the new file."""
    code = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from repro.progress import Progress
        from repro.store import Store
        class Told(Progress):
            def note(self, message):
                print("waiting", flush=True)
        store, log = Store(Path(sys.argv[1]), Told()), Path(sys.argv[2])
        def work(directory):
            with log.open("a") as stream:
                stream.write("built ")
            time.sleep(0.5)
        store.build(store.remembered(sys.argv[3]), work)
    """)
    command = [sys.executable, "-c", code, str(store.root), str(tmp_path / "log"), CORPUS.fingerprint]
    children = []
    with exclusive_lock(store.root, CORPUS):
        for _ in range(2):
            children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert children[-1].stdout.readline() == "waiting\n"
        store.discard(CORPUS)  # as whoever collects does while it holds the lock
        (store.root / "locks" / f"corpus-{CORPUS.fingerprint}.lock").unlink()
    assert [child.wait() for child in children] == [0, 0]
    for child in children:
        child.stdout.close()
    assert (tmp_path / "log").read_text() == "built "
