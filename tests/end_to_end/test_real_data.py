"""Real collections at full scale: print is reproduced, absent data blocks."""

import json

import pytest


@pytest.mark.nightly  # as the figures of pyserini in tests/retrieval/stages/test_bm25.py
def test_bm25_on_two_real_collections_reproduces_print_and_the_rest_is_blocked(
    real_data, command_line, tmp_path
):
    done = command_line(
        "run",
        "cotmae_v2",
        "--table",
        "3",
        "--row",
        "bm25",
        "--format",
        "json",
        store=tmp_path / "s",
        results=tmp_path / "r",
        data=real_data,
    )
    assert done.returncode == 4, done.stderr
    cells = {c["id"].rpartition("/")[2]: c for c in json.loads(done.stdout)}
    verdicts = {name: c["verdict"] for name, c in cells.items()}
    assert verdicts.pop("scifact") == verdicts.pop("nfcorpus") == "exact"
    assert len(verdicts) == 13 and set(verdicts.values()) == {"blocked"}
    assert round(cells["scifact"]["measured"], 1) == 66.5
    assert round(cells["nfcorpus"]["measured"], 1) == 32.5
    for name in verdicts:
        assert all("repro data fetch" in o["remedy"] for o in cells[name]["blocked"]), name
    records = (tmp_path / "r/records/full/cotmae_v2.jsonl").read_text().splitlines()
    assert {json.loads(line)["cell"] for line in records} == {
        "cotmae_v2/3/bm25/scifact",
        "cotmae_v2/3/bm25/nfcorpus",
    }


@pytest.mark.nightly
def test_a_released_encoder_reproduces_its_published_score(real_data, real_encoder, command_line, tmp_path):
    cell = "mteb/1/all-minilm-l6-v2/nfcorpus"
    folders = {"store": tmp_path / "s", "results": tmp_path / "r", "data": real_data}
    done = command_line("run", cell, "--format", "json", **folders)
    assert done.returncode == 0, done.stderr
    [measured] = json.loads(done.stdout)
    assert (measured["verdict"], round(measured["measured"], 3)) == ("exact", 31.594)
