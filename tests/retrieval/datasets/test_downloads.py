"""Fetching from a server on this machine, through the download code of the libraries themselves."""

import contextlib
import functools
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import md5
from queue import SimpleQueue

import pytest
from filelock import FileLock

from repro.errors import BlockedError
from repro.progress import Progress
from repro.retrieval.datasets import catalog, libraries
from repro.retrieval.datasets.fetching import offer
from tests.local_site import served
from tests.retrieval.datasets.folders import without_counts
from tests.standins.fill import fetchable, fill
from tests.standins.served import at_home, serve


class Told(Progress):
    """The tasks of a download, as name, total and how much was done; Ctrl-C when that is ``most``."""

    def __init__(self, most: int = -1):
        self.tasks, self.most = [], most

    @contextlib.contextmanager
    def task(self, name, total=None):
        self.tasks.append([name, total, 0])
        yield functools.partial(self._advance, len(self.tasks) - 1)

    def _advance(self, task, n=1):
        self.tasks[task][2] += n
        if self.tasks[task][2] == self.most:
            raise KeyboardInterrupt


@pytest.fixture
def site(standins, tmp_path, monkeypatch):
    """A server of all that ir_datasets downloads, and an empty home."""
    monkeypatch.setattr(libraries, "PAUSE", 0)
    without_counts(monkeypatch, *catalog.catalog())
    with served() as site:
        serve(site, standins / "home", monkeypatch)
        at_home(tmp_path / "home", monkeypatch)
        yield site


def test_what_comes_over_the_network_is_what_lies_in_a_home(standins, site, tmp_path, monkeypatch):
    for id in fetchable():
        if id != HARD:
            offer(id).load(tmp_path / "data", Progress())
    shutil.copytree(standins, tmp_path / "made")
    at_home(tmp_path / "made/home", monkeypatch)
    fill(tmp_path / "made/home", tmp_path / "made/data")
    files = [path for path in (tmp_path / "data").rglob("*.*") if path.is_file()]
    names = [str(path.relative_to(tmp_path / "data")) for path in files]
    assert len(names) > 100 and not [name for name in names if name.endswith("partial")]
    for name in names:
        assert (tmp_path / "data" / name).read_bytes() == (tmp_path / "made/data" / name).read_bytes(), name


def test_a_download_that_is_cut_off_goes_on_where_it_stopped(site, tmp_path, monkeypatch):
    path = "dpr-w100/docs"
    monkeypatch.setattr(libraries, "CHUNK", 1000)
    with pytest.raises(KeyboardInterrupt):
        offer("dpr-w100").load(tmp_path / "data", Told(most=5000))
    [kept] = (tmp_path / "home/downloads").glob("*.partial")
    assert kept.read_bytes() == site.files[path][:5000]
    offer("dpr-w100").load(tmp_path / "data", Progress())
    assert site.asked == [(path, 0), (path, 5000)]
    assert [path.name for path in (tmp_path / "home/downloads").iterdir()] == ["lock"]


def test_within_a_process_it_is_tried_again_as_long_as_something_comes(site, tmp_path, monkeypatch):
    path = "beir/scifact"
    site.cut[path] = 1000
    monkeypatch.setattr(libraries, "CHUNK", 100)
    offer("beir/scifact").load(tmp_path / "data", Progress())
    assert site.asked == [(path, 0), (path, 1000)]


def test_two_processes_that_download_into_one_home_take_turns(site, tmp_path):
    class Waiting(Progress):
        said: SimpleQueue[str] = SimpleQueue()

        def note(self, message):
            self.said.put(message)

    (tmp_path / "home/downloads").mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:
        with FileLock(tmp_path / "home/downloads/lock"):
            loading = pool.submit(offer("beir/scifact").load, tmp_path / "data", Waiting())
            said = Waiting.said.get(timeout=60)
            asked = list(site.asked)
        assert loading.result()
    assert said == f"another process is downloading into {tmp_path / 'home'}, waiting"
    assert not asked and site.asked == [("beir/scifact", 0)]


def test_a_download_tells_how_far_it_is(site, tmp_path):
    told = Told()
    offer("msmarco-passage/trec-dl-2019/judged").load(tmp_path / "data", told)
    size = len(site.files["msmarco-passage/trec-dl-2019/qrels"])
    assert ["downloading qrels", size, size] in told.tasks


def test_a_file_with_another_digest_is_told_as_such_and_forgotten(site, tmp_path):
    site.files["beir/scifact"] += b"x"
    with pytest.raises(BlockedError) as caught:
        offer("beir/scifact").load(tmp_path / "data", Progress())
    words = "what was downloaded for beir/scifact is not the file that was meant (expected md5 hash to be "
    assert caught.value.cause.startswith(words)
    assert caught.value.remedy == "fetch it again, and if it stays so, lay beir/scifact into REPRO_DATA"
    assert [path.name for path in (tmp_path / "home/downloads").iterdir()] == ["lock"]


def test_a_library_that_lacks_is_one_sentence(site, tmp_path, monkeypatch):
    from ir_datasets import lazy_libs

    monkeypatch.delitem(lazy_libs._cache, "ijson", raising=False)
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(BlockedError) as caught:
        offer("dpr-w100/natural-questions/train").load(tmp_path / "data", Progress())
    said = "dpr-w100/natural-questions/train is read with ijson, which is not installed"
    assert str(caught.value) == f"{said}; run `python -m pip install ijson`"


def test_beir_downloads_and_unpacks_by_itself(site, tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "BEIR_ADDRESS", f"{site.address}/beir/{{}}")
    offer("beir/scifact").load(tmp_path / "data", Progress())
    site.files["beir/scifact.zip"] = site.files["beir/scifact"]
    monkeypatch.setattr(libraries, "BEIR_ADDRESS", f"{site.address}/beir/{{}}.zip")
    offer("beir/scifact", library="beir").load(tmp_path / "other", Progress())
    for name in ("corpus.jsonl", "qrels/test.tsv", "qrels/train.tsv"):
        ours, other = (tmp_path / folder / "beir/scifact" / name for folder in ("data", "other"))
        assert sorted(ours.read_text().splitlines()) == sorted(other.read_text().splitlines())


HARD = "msmarco-passage/train/hard-negatives"


def test_a_linked_file_is_taken_by_its_digest(standins, site, tmp_path, monkeypatch):
    packed = (standins / "home/msmarco-passage/msmarco-hard-negatives.jsonl.gz").read_bytes()
    site.files["negatives.jsonl.gz"] = packed
    linked = {"address": f"{site.address}/negatives.jsonl.gz", "md5": md5(packed).hexdigest()}
    entries = catalog.catalog()
    monkeypatch.setattr(catalog, "catalog", lambda: {**entries, HARD: replace(entries[HARD], **linked)})
    [path] = offer(HARD).load(tmp_path / "data", Progress())
    assert path.read_bytes() == packed
    linked["md5"] = "0" * 32
    (tmp_path / "home/msmarco-passage/negatives.jsonl.gz").unlink()
    with pytest.raises(BlockedError, match=r"not the file that was meant \(expected md5 hash to be 0000"):
        offer(HARD).load(tmp_path / "data", Progress())


def test_topics_of_documents_and_passages_lie_apart(site, tmp_path):
    passages, documents = (f"msmarco-{kind}/trec-dl-2020/judged" for kind in ("passage", "document"))
    before = {path: path.read_bytes() for path in offer(passages).load(tmp_path / "data", Progress())}
    offer(documents).load(tmp_path / "data", Progress())
    assert all(path.read_bytes() == content for path, content in before.items())
    topics = {path.name: len(path.read_text().splitlines()) for path in (tmp_path / "data/topics").iterdir()}
    assert topics == {"topics.dl20-doc.txt": 45, "topics.dl20-passage.txt": 54}
