"""ir_datasets reads and fetches collections, from a server on this machine."""

import contextlib
import functools
import gzip
import importlib
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import md5
from queue import SimpleQueue

import ir_datasets
import pytest
from filelock import FileLock

from repro.errors import BlockedError, DataError
from repro.progress import Progress
from repro.retrieval.datasets import catalog, libraries, reading
from repro.retrieval.datasets.catalog import Document, Judgement, Query, dataset
from repro.retrieval.datasets.fetching import offer
from repro.retrieval.datasets.sources import Source
from tests.local_site import served
from tests.retrieval.datasets.folders import beir_folder, without_counts, write
from tests.standins.fill import fetchable, fill
from tests.standins.served import at_home, serve


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    return tmp_path


def _fresh(monkeypatch, *modules: str) -> None:
    """ir_datasets fixes its home when a dataset's module is imported: import those anew."""
    for name in modules:
        module = importlib.import_module(f"ir_datasets.datasets.{name}")
        for id in [id for id in ir_datasets.registry._registered if id.split("/")[0] == module.NAME]:
            monkeypatch.delitem(ir_datasets.registry._registered, id)
        importlib.reload(module)


def test_a_beir_archive_in_ir_datasets_home_is_read(home, monkeypatch):
    folder = beir_folder(home / "made/scifact")
    archive = home / "beir/scifact/source.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as packed:
        for path in folder.rglob("*.*"):
            packed.write(path, f"scifact/{path.relative_to(folder)}")
    _fresh(monkeypatch, "beir")
    assert list(libraries.documents("beir/scifact"))[1] == Document("d1", "T1", "text 1")
    assert [q.id for q in libraries.queries("beir/scifact/train")] == ["2", "1"]
    assert [q.id for q in libraries.queries("beir/scifact")] == ["4", "3", "2", "1"]
    judgements = list(libraries.judgements("beir/scifact/test"))
    assert judgements == [Judgement("3", "d0", 2), Judgement("3", "d1", 0)]
    with pytest.raises(DataError, match="3 documents, but beir/scifact has 5,183"):
        list(reading.documents(Source("beir/scifact", "documents", "library", "ir_datasets")))


def test_passages_topics_and_pairs_in_ir_datasets_home_are_read(home, monkeypatch):
    folder = home / "msmarco-passage"
    write(folder / "irds_version.txt", "v2")
    write(folder / "collection.tsv", "0\tfirst passage\n1\tsecond passage\n")
    write(folder / "dev/small/queries.tsv", "7\t what is first \n")
    write(folder / "dev/small/qrels", "7\t0\t0\t1\n")
    packed = folder / "train/qidpidtriples.train.full.2.tsv.gz"
    packed.parent.mkdir()
    with gzip.open(packed, "wt") as file:
        file.write("7\t0\t1\n")
    _fresh(monkeypatch, "msmarco_passage")
    documents = [Document("0", "", "first passage"), Document("1", "", "second passage")]
    assert list(libraries.documents("msmarco-passage")) == documents
    assert list(libraries.queries("msmarco-passage/dev/small")) == [Query("7", "what is first")]
    assert list(libraries.judgements("msmarco-passage/dev/small")) == [Judgement("7", "0", 1)]
    assert libraries.triples_file("msmarco-passage/train/triples-v2") == packed


def test_beirs_own_loader_reads_the_same_records(tmp_path):
    folder = beir_folder(tmp_path / "scifact")
    documents, queries, judgements = libraries.beir_records(folder, "train")
    assert documents[0] == Document("d0", "T0", "text 0") and len(documents) == 3
    assert queries == [Query("1", "query 1"), Query("2", "query 2")]
    assert judgements == [Judgement("1", "d1", 1), Judgement("2", "d2", 1)]


FAILURES = [ConnectionError("no route"), OSError(28, "No space left on device"), RuntimeError("all failed")]


@pytest.mark.parametrize("error", FAILURES)
def test_what_the_network_refuses_is_one_sentence_with_a_remedy(monkeypatch, error):
    def refuse(id):
        raise error

    monkeypatch.setattr(libraries, "_ir_dataset", refuse)
    for read, id in [(libraries.documents, "dpr-w100"), (libraries.judgements, "beir/fever/test")]:
        with pytest.raises(BlockedError) as caught:
            list(read(id))
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        assert caught.value.cause == f"{id} could not be downloaded ({reason})"
        assert "\n" not in str(caught.value) and caught.value.remedy.startswith("check the network")


def test_every_id_said_to_be_in_ir_datasets_is_there():
    for id, entry in catalog.catalog().items():
        if entry.source == "ir_datasets" and not entry.members:
            known = ir_datasets.load(id)
            names = {"documents": "docs", "queries": "queries", "qrels": "qrels", "triples": "docpairs"}
            assert all(known.has(names[piece]) for piece in dataset(id).pieces), id


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


def test_a_file_with_another_digest_is_told_as_such_and_forgotten(site, tmp_path):
    site.files["beir/scifact"] += b"x"
    with pytest.raises(BlockedError) as caught:
        offer("beir/scifact").load(tmp_path / "data", Progress())
    words = "the download of beir/scifact is not the expected file (expected md5 hash to be "
    assert caught.value.cause.startswith(words)
    assert caught.value.remedy == "fetch it again, or put beir/scifact into REPRO_DATA"
    assert [path.name for path in (tmp_path / "home/downloads").iterdir()] == ["lock"]


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
    with pytest.raises(BlockedError, match=r"not the expected file \(expected md5 hash to be 0000"):
        offer(HARD).load(tmp_path / "data", Progress())
