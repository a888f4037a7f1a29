"""Checkpoints and texts of the hub are fetched by its own library, from a server on this machine."""

import io
import json
from hashlib import md5

import pytest

from repro.errors import BlockedError
from repro.progress import Progress
from repro.retrieval.datasets import fetching
from repro.retrieval.datasets.record_files import documents
from repro.retrieval.datasets.records import Document
from tests.local_site import served

COMMIT = "c" * 40
NAME = "wikimedia/wikipedia"


@pytest.fixture
def hub(monkeypatch):
    """A server that the hub's library takes for the hub."""
    from huggingface_hub import constants

    with served() as site:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", site.address)
        template = site.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield site


def publish(site, kind, name, files, *, commit=COMMIT):
    """Let the server have a repository of ``kind`` "models" or "datasets" at this commit."""
    described = {"id": name, "sha": commit, "siblings": [{"rfilename": file} for file in files]}
    listed = [{"type": "file", "path": file, "size": len(files[file]), "oid": commit} for file in files]
    for revision in ("main", commit):
        _answer(site, f"api/{kind}/{name}/tree/{revision}", listed)
        _answer(site, f"api/{kind}/{name}/revision/{revision}", described)
    _answer(site, f"api/{kind}/{name}", described)
    prefix = "" if kind == "models" else f"{kind}/"
    for file, content in files.items():
        for revision in (commit, "main"):
            path = f"{prefix}{name}/resolve/{revision}/{file}"
            site.files[path] = content
            site.headers[path] = {"ETag": f'"{md5(content).hexdigest()}"', "X-Repo-Commit": commit}


def _answer(site, path, value):
    site.files[path] = json.dumps(value).encode()
    site.headers[path] = {"Content-Type": "application/json"}


def shard(*numbers) -> bytes:
    """A Parquet file of articles as the text of the hub has them."""
    import pyarrow
    import pyarrow.parquet

    rows = [
        {"id": str(n), "url": f"https://en.example/{n}", "title": f"T{n}", "text": f"text {n} é"}
        for n in numbers
    ]
    packed = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), packed)
    return packed.getvalue()


SHARDS = {f"20231101.en/train-0000{n}-of-00003.parquet": shard(2 * n, 2 * n + 1) for n in range(3)}


def test_a_checkpoint_comes_with_what_is_needed_of_it(hub, tmp_path):
    files = {
        "config.json": b"{}",
        "model.safetensors": b"weights",
        "tf_model.h5": b"not wanted",
        "vocab.txt": b"a\n",
    }
    publish(hub, "models", "some/model", files)
    [folder] = fetching.offer("model:some/model").load(tmp_path, Progress())
    there = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert there == {name: content for name, content in files.items() if name != "tf_model.h5"}


def test_a_text_of_the_hub_is_fetched_file_by_file(hub, tmp_path):
    publish(hub, "datasets", NAME, {"20231101.fr/train-0.parquet": b"", **SHARDS})
    [path] = fetching.offer("wikipedia").load(tmp_path, Progress())
    expected = [Document(str(n), f"T{n}", f"text {n} é", f"https://en.example/{n}") for n in range(6)]
    assert list(documents(path)) == expected
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == ["wikipedia.jsonl"]


def test_a_text_that_was_cut_off_goes_on_with_the_file_it_had_come_to(hub, tmp_path):
    publish(hub, "datasets", NAME, SHARDS)
    second = f"datasets/{NAME}/resolve/{COMMIT}/{sorted(SHARDS)[1]}"
    content = hub.files.pop(second)
    with pytest.raises(BlockedError) as caught:
        fetching.offer("wikipedia").load(tmp_path, Progress())
    assert caught.value.remedy.endswith("run it again: it goes on where it stopped")
    partial = tmp_path / "text/wikipedia.jsonl.partial"
    assert len(list(documents(partial))) == 2
    partial.write_bytes(partial.read_bytes() + b"half a line")
    hub.files[second], hub.asked[:] = content, []
    [path] = fetching.offer("wikipedia").load(tmp_path, Progress())
    assert [document.id for document in documents(path)] == list("012345")
    asked = {path for path, _ in hub.asked if path.endswith(".parquet")}
    assert asked == {f"datasets/{NAME}/resolve/{COMMIT}/{name}" for name in sorted(SHARDS)[1:]}


def test_lines_of_another_commit_are_thrown_away(hub, tmp_path):
    publish(hub, "datasets", NAME, SHARDS)
    last = f"datasets/{NAME}/resolve/{COMMIT}/{sorted(SHARDS)[2]}"
    del hub.files[last]
    with pytest.raises(BlockedError):
        fetching.offer("wikipedia").load(tmp_path, Progress())
    newer = dict(zip(SHARDS, (shard(7), shard(8), shard(9)), strict=True))
    publish(hub, "datasets", NAME, newer, commit="d" * 40)
    [path] = fetching.offer("wikipedia").load(tmp_path, Progress())
    assert [document.id for document in documents(path)] == list("789")
