"""Artefacts go to another store and come back as they were, or not at all."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from repro.errors import StoreError, UsageError
from repro.graph import Node, canonical
from repro.stage_table import STAGES
from repro.store import RECORD, Store, damage
from repro.store.transfer import WRITTEN_FILES, RemoteStore, pull, push

NODE = Node("corpus", {"dataset": "x"})
FILES = {"arrow/data.arrow": b"rows" * 5, "arrow/state.json": b"{}"}


def build(store, files=FILES, node=NODE):
    def work(directory):
        for name, content in files.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_bytes(content)

    return store.build(node, work, waiting=lambda: None)


def fetch(store, source, node=NODE):
    return pull(node, store, source, waiting=lambda: None, check=lambda folder, facts: None)


@pytest.fixture
def ours(tmp_path):
    store = Store(tmp_path / "ours")
    build(store)
    return store


@pytest.fixture(params=["folder", "memory"])
def there(request, tmp_path):
    """An empty place: a folder, and a file system without renaming or locks."""
    yield RemoteStore(str(tmp_path / "there") if request.param == "folder" else "memory://there")
    if request.param == "memory":
        from fsspec import filesystem

        filesystem("memory").store.clear()


def test_what_was_pushed_is_pulled_as_it_was(ours, there, tmp_path):
    assert push(NODE, ours, there) == "sent"
    assert push(NODE, ours, there) == "already there"
    mine = Store(tmp_path / "mine")
    assert fetch(mine, there) == "fetched"
    assert fetch(mine, there) == "already there"
    assert damage(mine.path(NODE)) == []
    assert {name: (mine.path(NODE) / name).read_bytes() for name in FILES} == FILES
    record = (mine.path(NODE) / RECORD).read_bytes()
    assert record == (ours.path(NODE) / RECORD).read_bytes()


def test_a_folder_that_was_pushed_into_is_a_store(ours, tmp_path):
    push(NODE, ours, RemoteStore(str(tmp_path / "there")))
    assert Store(tmp_path / "there").state(NODE) == "stored"


def test_what_neither_side_has_is_absent(ours, there, tmp_path):
    other = Node("corpus", {"dataset": "y"})
    assert push(other, ours, there) == "absent"
    assert fetch(Store(tmp_path / "mine"), there, other) == "absent"


def test_an_address_of_no_known_kind_is_a_sentence_without_its_password():
    with pytest.raises(UsageError, match=r"^nowhere://host/x cannot be opened: .*give a folder or URL$"):
        RemoteStore("nowhere://me:secret@host/x")


def test_what_is_shown_of_an_address_holds_no_token():
    with pytest.raises(UsageError) as refused:
        RemoteStore("nowhere://host/x?token=secret")
    said = str(refused.value)
    assert said.startswith("nowhere://host/x?… cannot be opened") and "secret" not in said


def test_a_cache_in_front_of_a_url_is_no_folder(tmp_path):
    assert not RemoteStore("filecache::memory://there").is_folder
    assert RemoteStore(str(tmp_path)).is_folder and RemoteStore(f"file://{tmp_path}").is_folder


def test_a_server_that_does_not_say_how_large_files_are_serves(ours, tmp_path, monkeypatch):
    there = RemoteStore(str(ours.root))
    monkeypatch.setattr(type(there.files), "size", lambda self, path: None)
    assert fetch(Store(tmp_path / "mine"), there) == "fetched"
    monkeypatch.setattr("repro.store.transfer.LARGEST_RECORD", 100)
    with pytest.raises(StoreError, match=r"is refused: artefact.json is larger than any"):
        fetch(Store(tmp_path / "other"), there)


def test_an_artefact_damaged_here_is_not_sent(ours, there):
    (ours.path(NODE) / "arrow/state.json").write_bytes(b"[]")
    with pytest.raises(StoreError, match=r"state\.json is altered"):
        push(NODE, ours, there)
    assert there.record(NODE) is None


def test_a_transfer_cut_short_continues_with_what_arrived(ours, there, tmp_path, monkeypatch):
    push(NODE, ours, there)
    mine, opened, opens = Store(tmp_path / "mine"), there.open, []

    def counted(node, name):
        if name != RECORD:
            opens.append(name)
            if len(opens) == 2:
                with there.errors():
                    raise ConnectionError("the line is dead")
        return opened(node, name)

    monkeypatch.setattr(there, "open", counted)
    with pytest.raises(StoreError, match=r"the line is dead; with it at hand the same command continues"):
        fetch(mine, there)
    assert mine.state(NODE) == "missing"
    assert fetch(mine, there) == "fetched"
    assert len(opens) == 3 and opens[2] == opens[1] != opens[0]  # the first file was not fetched again
    assert damage(mine.path(NODE)) == []


def test_what_an_interrupted_fetch_left_is_not_trusted(ours, tmp_path):
    mine = Store(tmp_path / "mine")
    incoming = mine.path(NODE).with_suffix(".incoming")
    (incoming / "arrow/state.json").mkdir(parents=True)
    (incoming / "arrow/data.arrow").write_bytes(b"wrong" * 4)  # of the right size
    (incoming / "added").write_text("")
    (incoming / "link").symlink_to(tmp_path)
    os.mkfifo(incoming / "arrow/dataset_info.json")
    assert fetch(mine, RemoteStore(str(ours.root))) == "fetched"
    assert damage(mine.path(NODE)) == []


def test_a_partial_of_a_training_is_left_for_the_training(ours, tmp_path):
    mine = Store(tmp_path / "mine")
    mine.partial(NODE).mkdir(parents=True)
    (mine.partial(NODE) / "checkpoint").write_text("")
    assert fetch(mine, RemoteStore(str(ours.root))) == "fetched"
    assert (mine.partial(NODE) / "checkpoint").exists()
    assert not (mine.path(NODE) / "checkpoint").exists()


def _changed(path, change):
    """A record that its own checksum vouches for, whatever else it says."""
    record = json.loads((path / RECORD).read_text())
    change(record)
    del record["sha256"]
    (path / RECORD).write_text(json.dumps(record))


def _escaping(name):
    def harm(path):
        _changed(path, lambda record: record["files"].update({name: record["files"]["arrow/state.json"]}))

    return harm


def _other_identity(path):
    def change(record):
        record["identity"]["params"]["dataset"] = "y"
        record["fingerprint"] = hashlib.sha256(canonical(record["identity"]).encode()).hexdigest()

    _changed(path, change)


def _endless(path):
    os.truncate(path / "arrow/data.arrow", 2**30)


def _adding(name, content=b"{}"):
    """A file more, of which the record tells the truth."""

    def harm(path):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(content)
        entry = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        _changed(path, lambda record: record["files"].update({name: entry}))

    return harm


def _file_and_folder(path):
    _changed(path, lambda record: record["files"].update({"arrow": record["files"]["arrow/state.json"]}))


def _pipe(name):
    def harm(path):
        (path / name).unlink()
        os.mkfifo(path / name)

    return harm


def _link(path):
    (path / "arrow/state.json").unlink()
    (path / "arrow/state.json").symlink_to("/dev/zero")


def _larger_than_the_disk(path):
    _changed(path, lambda record: record["files"]["arrow/state.json"].update(size=2**60))


CONFIG = b'{"model_type": "bert", "auto_ma\\u0070": {"AutoModel": "somebody/code--module.Class"}}'
NESTED = b'{"text_config": {"auto_map": {"AutoModel": "somebody/code--module.Class"}}}'

MALICE = {
    "a name above": (_escaping("../../../escaped"), "names '../../../escaped', which is no file of"),
    "an absolute name": (_escaping("/tmp/escaped"), "names '/tmp/escaped', which is no file of"),
    "a control character": (_escaping("a\nb"), "which is no file of"),
    "another artefact": (_other_identity, "another artefact's, or its identity was changed"),
    "altered bytes": (
        lambda p: (p / "arrow/state.json").write_bytes(b"[]"),
        "arrow/state.json is not what its record",
    ),
    "too many bytes": (_endless, "arrow/data.arrow is not what its record says"),
    "no JSON": (lambda p: (p / RECORD).write_text("{"), "artefact.json cannot be read"),
    "deep JSON": (lambda p: (p / RECORD).write_text("[" * 10**6), "artefact.json cannot be read"),
    "no record at all": (lambda p: (p / RECORD).write_text("[]"), "artefact.json cannot be read"),
    "a pickle": (_adding("model/pytorch_model.bin"), "'model/pytorch_model.bin', which may run code"),
    "a module": (_adding("model/modeling.py"), "'model/modeling.py', which may run code"),
    "a compiled module": (_adding("model/x.pyc"), "'model/x.pyc', which may run code"),
    "a packed pickle": (_adding("x.joblib.gz"), "'x.joblib.gz', which may run code"),
    "an archive of Java": (_adding("lucene/_0.jar"), "'lucene/_0.jar', which may run code"),
    "a file without an ending": (_adding("run"), "'run', which may run code"),
    "a block of an attempt": (_adding("blocks/0.json"), "'blocks/0.json', which may run code"),
    "a checkpoint": (_adding("checkpoints/seal.json"), "'checkpoints/seal.json', which may run code"),
    "modules of another library": (_adding("modules.json"), "'modules.json', which may run code"),
    "settings of another program": (_adding("arrow/x.yml"), "'arrow/x.yml', which may run code"),
    "a name no file may have": (_escaping(f"arrow/{'x' * 300}.arrow"), ".arrow', which is no file of"),
    "a file that is a folder": (_file_and_folder, "names 'arrow' as a file and as the folder of 'arrow/data"),
    "a pipe": (_pipe("arrow/state.json"), "arrow/state.json is a link, a pipe or a device, not a file"),
    "a pipe for the record": (_pipe(RECORD), "artefact.json is a link, a pipe or a device, not a file"),
    "a link": (_link, "arrow/state.json is a link, a pipe or a device, not a file"),
}


@pytest.mark.parametrize("name", MALICE)
def test_a_store_that_lies_is_refused_and_nothing_of_it_is_stored(ours, tmp_path, name):
    harm, words = MALICE[name]
    harm(ours.path(NODE))
    mine = Store(tmp_path / "mine")
    with pytest.raises(StoreError, match="refused") as refused:
        fetch(mine, RemoteStore(str(ours.root)))
    assert words in str(refused.value)
    assert mine.state(NODE) == "missing"
    assert not Path("/tmp/escaped").exists() and not list(tmp_path.rglob("*escaped*"))


@pytest.mark.parametrize(("name", "content"), [("config", CONFIG), ("tokenizer_config", NESTED)])
def test_a_model_that_names_code_is_refused(ours, tmp_path, name, content):
    node = Node("backbone", {"name": "x"})
    build(ours, {f"model/{name}.json": content}, node)
    with pytest.raises(StoreError, match=rf"model/{name}.json names code to be loaded with the model"):
        fetch(mine := Store(tmp_path / "mine"), RemoteStore(str(ours.root)), node)
    assert mine.state(node) == "missing"


def test_a_false_size_is_refused_before_a_byte_is_written(ours, tmp_path, monkeypatch):
    mine, there = Store(tmp_path / "mine"), RemoteStore(str(ours.root))
    _endless(ours.path(NODE))
    with pytest.raises(
        StoreError, match=r"data.arrow is not what its record says: 1,073,741,824 bytes, not 20"
    ):
        fetch(mine, there)
    monkeypatch.setattr(
        there, "open", lambda *arguments: ((ours.path(NODE) / "arrow/data.arrow").open("rb"), None)
    )
    content = ours.path(NODE) / RECORD
    monkeypatch.setattr(
        there, "record", lambda node: (content.read_bytes(), {"arrow/data.arrow": (20, "0" * 64)})
    )
    with pytest.raises(StoreError, match=r"data.arrow is not what its record says"):
        fetch(mine, there)


def test_what_the_disk_has_no_room_for_is_refused_before_it_is_full(ours, tmp_path):
    _larger_than_the_disk(ours.path(NODE))
    mine = Store(tmp_path / "mine")
    with pytest.raises(
        StoreError, match=r"says 1,152,921,504,606,846,\d+ bytes more, and the disk has .* left; free"
    ):
        fetch(mine, RemoteStore(str(ours.root)))
    assert not list(tmp_path.glob("mine/corpus/*.incoming/*"))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("run", "run.trec raw.npy run.ir_metadata.yml lucene.log"),
        ("model", "train_log.jsonl model/config.json model/vocab.txt model/sentencepiece.bpe.model"),
        ("model", "model/special_tokens_map.json model/model-00001-of-00002.safetensors"),
        ("released", "model/modules.json model/1_Pooling/config.json model/2_Dense/model.safetensors"),
        ("corpus", "arrow/data-00000-of-00001.arrow arrow/state.json arrow/dataset_info.json"),
        (
            "lucene_index",
            "fields.json lucene.log lucene/segments_1z lucene/write.lock lucene/_0.cfs lucene/_0.si",
        ),
        ("lucene_index", "lucene/_a.fnm lucene/_0_Lucene99_0.tmd lucene/_0_Lucene90_0.dvd lucene/_0.kdi"),
    ],
)
def test_every_file_that_stages_write_may_be_fetched(kind, names):
    assert all(re.fullmatch(WRITTEN_FILES[kind], name) for name in names.split())


def test_the_files_of_every_kind_of_artefact_are_known():
    assert {spec.output for spec in STAGES.values()} <= set(WRITTEN_FILES)


def test_a_place_that_cannot_be_written_is_a_sentence(ours, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"part of that path is a file|that path is a file"):
        push(NODE, ours, RemoteStore(str(tmp_path / "file")))


def test_what_is_damaged_here_is_not_overwritten_silently(ours, tmp_path):
    mine = Store(tmp_path / "mine")
    shutil.copytree(ours.path(NODE), mine.path(NODE))
    (mine.path(NODE) / "arrow/state.json").unlink()
    with pytest.raises(StoreError, match=r"repro store verify --rebuild"):
        fetch(mine, RemoteStore(str(ours.root)))
