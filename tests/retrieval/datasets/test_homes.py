"""What lies in the home of ir_datasets is used in place, and is what fetching from it would write."""

import shutil

import pytest

from repro.errors import DataError
from repro.locations import Locations
from repro.retrieval.datasets import catalog, reading, sources, survey
from repro.retrieval.datasets.digests import planned_source
from repro.retrieval.datasets.sources import MissingPiece, locate
from repro.running.requirements import Machine
from tests.retrieval.datasets.folders import planned, without_counts
from tests.standins.fill import fill
from tests.standins.served import at_home

READERS = {"documents": reading.documents, "queries": reading.queries, "qrels": reading.judgements}
READERS |= {"triples": reading.triples, "negatives": reading.negatives}


@pytest.fixture(scope="module")
def fetched(standins, tmp_path_factory):
    """A home, and a data folder filled from it."""
    folder = tmp_path_factory.mktemp("fetched")
    shutil.copytree(standins, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        at_home(folder / "home", patch)
        fill(folder / "home", folder / "data")
    return folder


@pytest.fixture
def believed(monkeypatch):
    """Let stand-ins pass for what they stand for: without counts and digests."""
    without_counts(monkeypatch, *catalog.catalog())
    stated = sources.home_layout()
    monkeypatch.setattr(sources, "home_layout", lambda: {**stated, "md5": {}})


def in_home(entry):
    return entry.source == "ir_datasets" and not entry.members


def test_every_piece_of_every_collection_reads_as_if_it_had_been_fetched(fetched, standins, believed):
    compared = 0
    for id, entry in catalog.catalog().items():
        for piece in entry.pieces if in_home(entry) else ():
            here, there = locate(id, piece, None, home=standins / "home"), locate(id, piece, fetched / "data")
            assert (here.kind, there.kind) == ("home", "folder"), (id, piece)
            read = READERS[piece]
            assert list(read(here)) == list(read(there)), (id, piece)
            compared += 1
    assert compared == 105


def test_reading_writes_nothing_into_the_home(standins, believed):
    before = sorted((standins / "home").rglob("*"))
    for id, piece in [
        ("msmarco-passage", "documents"),
        ("beir/fever", "documents"),
        (NQ, "queries"),
        (NQ, "qrels"),
    ]:
        assert list(READERS[piece](locate(id, piece, None, home=standins / "home")))
    assert sorted((standins / "home").rglob("*")) == before


NQ = "dpr-w100/natural-questions/dev"


def test_what_lies_in_the_data_folder_goes_before_the_home(fetched, standins):
    assert locate("beir/fiqa", "documents", fetched / "data", home=standins / "home").kind == "folder"


def test_a_home_without_the_archive_has_nothing_of_it(tmp_path):
    assert isinstance(locate("beir/fiqa", "documents", None, home=tmp_path), MissingPiece)


def test_a_download_with_another_digest_is_refused(standins, monkeypatch):
    without_counts(monkeypatch, "beir/scifact")
    source = locate("beir/scifact", "documents", None, home=standins / "home")
    with pytest.raises(DataError, match=r"scifact/source.zip: is not the file that ir_datasets downloads"):
        list(reading.documents(source))


def test_the_digests_are_those_of_ir_datasets_own_list():
    from ir_datasets.util import DownloadConfig

    stated = {
        f"{collection}/{one['cache_path']}": one["expected_md5"]
        for collection in ("msmarco-passage", "msmarco-document", "dpr-w100", "beir")
        for one in DownloadConfig.contents()[collection].values()
        if "cache_path" in one and "expected_md5" in one
    }
    assert sources.home_layout()["md5"].items() <= stated.items() and len(sources.home_layout()["md5"]) == 33


def test_a_plan_takes_the_home_and_knows_it_by_its_bytes(standins, tmp_path, believed):
    home = tmp_path / "home"
    shutil.copytree(standins / "home/beir/scifact", home / "beir/scifact")
    machine = Machine(home=home)
    params = planned("corpus", machine=machine, dataset="beir/scifact")
    assert not machine.obstacles and params["source"]["kind"] == "home"
    with planned_source(params) as source:
        assert len(list(reading.documents(source))) == 12
    archive = home / "beir/scifact/source.zip"
    archive.write_bytes(archive.read_bytes() + b" ")
    with pytest.raises(DataError, match="changed since it was planned with"), planned_source(params):
        pass


def test_the_list_of_data_names_the_file_in_the_home(standins, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(standins / "home"))
    places = Locations.resolve()
    rows = {row.id: row for row in survey.survey(places.data, places.home)}
    archive = standins / "home/beir/scifact/source.zip"
    assert (rows["beir/scifact"].state, rows["beir/scifact"].where) == (
        "found",
        (f"{archive}/scifact/corpus.jsonl",),
    )
