"""``repro data``: what there is, whether it is sound, what fetching would bring."""

import pytest

from repro.datasets.catalog import catalog


@pytest.fixture
def data(folders, monkeypatch):
    place = folders / "data"
    (place / "beir/scifact").mkdir(parents=True)
    (place / "beir/scifact/corpus.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    monkeypatch.setenv("REPRO_DATA", str(place))
    return place


def test_every_dataset_is_listed_with_its_state(repro, data):
    rows = {row["id"]: row for row in repro("data", "list", "--json").json}
    assert list(rows) == list(catalog())
    assert rows["beir/scifact"]["state"] == "found"
    assert rows["beir/scifact"]["where"] == [str(data / "beir/scifact/corpus.jsonl")]
    assert rows["tiny/passage"]["state"] == "embedded" and rows["beir/fiqa"]["state"] == "missing"
    assert all(row["licence"] for row in rows.values())


def test_people_see_how_much_is_at_hand_and_where(repro, data):
    rows = repro("data", "list", "--json").json
    there = sum(row["state"] in ("found", "embedded") for row in rows)
    last = repro("data", "list").out.splitlines()[-1]
    assert last == f"{there} of {len(rows)} are at hand; data folder: {data}"


def test_without_a_folder_what_is_embedded_is_checked(repro):
    said = repro("data", "check", "tiny/passage", "tiny/passage/dev")
    assert (said.status, said.out) == (0, "nothing wrong\n")


def test_a_collection_that_is_not_the_papers_is_a_problem(repro, data):
    said = repro("data", "check")
    assert said.status == 2
    where = data / "beir/scifact/corpus.jsonl"
    problem = f"{where}: 1 documents where beir/scifact has 5,183: not the collection the papers used"
    assert said.out.splitlines() == [problem, "problems: 1"]


def test_what_nobody_gives_out_freely_is_status_4_with_what_to_do(repro, data):
    closed = next(id for id, entry in catalog().items() if entry.source == "none" and not entry.members)
    said = repro("data", "fetch", closed, "--yes")
    assert said.status == 4
    assert said.sentence.startswith(f"{closed} cannot be fetched (")


def test_a_data_folder_that_cannot_be_written_is_refused(repro, data, refuse, monkeypatch):
    from repro.datasets import libraries

    monkeypatch.setattr(libraries, "_ir_dataset", lambda id: pytest.fail("downloaded for nothing"))
    refuse(data, 30)  # EROFS
    said = repro("data", "fetch", "beir/fiqa", "--yes")
    assert said.status == 2
    words = "its file system is read-only; name another with REPRO_DATA"
    assert said.err.splitlines()[1] == f"repro: the data folder {data} cannot be used: {words}"
