"""The head-to-head study at scale medium, rehearsed on made-up first rows in the real formats."""

import csv

import pytest

from repro.running.engines.inline import run_node
from tests.retrieval.datasets.folders import word_list
from tests.standins import beir, checkpoints, passages, texts
from tests.standins.fill import fetch
from tests.standins.served import at_home
from tests.standins.sizes import Sizes

FEW = {"passages": 80, "beir": 12, "articles": 8, "books": 2, "queries": 12, "evaluated": 3, "triples": 6}
FETCHED = ["msmarco-passage", "beir/scifact/test", "beir/nfcorpus/test"]
FETCHED += [f"msmarco-passage/{split}" for split in ("train/judged", "train/triples-v2", "dev/small")]
ROWS = (
    "untrained",
    "random-weights",
    "start",
    "bert",
    "costa",
    "cpdae",
    "cotmae_v2",
    "simlm",
)  # without Java
SCALE = """\
medium-first-rows:
  about: medium on the first rows, two steps of every training
  like: medium
  first: {documents: 40, queries: 6, triples: 60}
  steps: 2
  caps: {texts_per_batch: 2, queries_per_batch: 2, depth: 20}
  without_gpu: {precision: fp32}
"""


@pytest.fixture
def study(folders, monkeypatch):
    """A data folder fetched from a home of stand-ins, with a small BERT under the real name, and the scale's file."""
    home, data, sizes = folders / "home", folders / "data", Sizes(**FEW, hidden=24)
    passages.make(home, data, sizes)
    beir.make(home, sizes)
    texts.make(data, sizes)
    checkpoints.make(data, sizes)
    at_home(home, monkeypatch)
    fetch(home, data, FETCHED)
    word_list(monkeypatch, data, "lists/stopwords.txt", ["and", "of", "the"])
    (folders / "scale.yaml").write_text(SCALE)
    monkeypatch.setenv("REPRO_DATA", str(data))
    monkeypatch.setattr("repro.running.scale._gpus", lambda: None)
    monkeypatch.setattr("repro.running.rehearsal.run_apart", run_node)
    return ("head_to_head", "--scale", folders / "scale.yaml")


@pytest.mark.nightly
def test_every_stage_of_the_study_is_carried_out_and_extrapolated_to_medium(repro, study):
    rows = [word for row in ROWS for word in ("--row", row)]
    told = repro("run", "--rehearse", *study, "--table", "1", *rows, "--format", "json").json
    assert told["not_rehearsed"] == []
    shares = {stage: [] for stage in ("pretrain", "finetune")}
    for node in told["nodes"]:
        if node["stage"] in shares:
            shares[node["stage"]].append((node["share"]["done"], node["share"]["whole"]))
    # 64 texts, 32 of pairs, in 30,000 steps; 16 queries in three tenths of 31,434, and here one is a tenth of all
    assert shares["pretrain"].count((4, 30_000 * 64)) == 4 and (4, 30_000 * 32) in shares["pretrain"]
    assert shares["finetune"] == [(2, 9_430 * 16)] * (len(ROWS) - 1)  # one row ranks as it is
    measured = repro("run", *study, "--table", "1", *rows)
    assert measured.status == 0 and "not compared with the published numbers" in measured.err
    few = repro("run", *study, "--table", "3", "--row", "bert", "--format", "csv")
    numbers = {line["cell"]: line["measured"] for line in csv.DictReader(few.out.splitlines())}
    assert few.status == 0 and float(numbers["head_to_head/3/bert/dev.rr10"]) >= 0
