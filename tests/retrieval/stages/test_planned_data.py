"""Stages refuse data or a checkpoint that changed after the plan."""

import importlib
import os

import pytest

from repro.errors import DataError
from repro.stage_table import STAGES
from tests.retrieval.datasets.folders import beir_folder, planned, without_counts, write, write_lines
from tests.tiny_models import save_tiny_model

TRIPLES, LISTED = "msmarco-passage/train/triples-v2", "msmarco-passage/train/hard-negatives"
TRIPLES_FILE = "msmarco-passage/qidpidtriples.train.full.2.tsv"
LISTED_FILE = "msmarco-passage/msmarco-hard-negatives.jsonl"
LISTED_ROW = {
    "qid": "1",
    "pos": [{"pid": "2", "ce-score": 9}],
    "neg": {"bm25": [{"pid": "3", "ce-score": 1}]},
}
NEGATIVES = {"margin": None, "per_system": None, "systems": None}

ENCODER = {"name": "some/bert", "revision": "main"}
ENCODED = {"kind": "queries", "kind_of_encoder": "dense", "similarity": "dot", "separator": " "}
ENCODED |= dict.fromkeys(("prompt", "precision"))

EDIT = ("models/some/bert/config.json", '"gelu"', '"relu"')
# parameters, the file that is edited below the data folder, and the edit
CASES = {
    "corpus": ({"dataset": "beir/scifact"}, "beir/scifact/corpus.jsonl", "text 1", "text 7"),
    "queries": ({"dataset": "beir/scifact/test"}, "beir/scifact/queries.jsonl", "query 3", "query 5"),
    "qrels": ({"dataset": "beir/scifact/test"}, "beir/scifact/qrels/test.tsv", "d0\t2", "d0\t1"),
    "official_negatives": ({"dataset": TRIPLES, "per_query": 1, "seed": 1}, TRIPLES_FILE, "3", "4"),
    "listed_negatives": ({"dataset": LISTED, **NEGATIVES}, LISTED_FILE, '"3"', '"4"'),
    "backbone": (ENCODER, *EDIT),
    "released": (ENCODER | {"kind": "dense", "pooling": "cls"}, *EDIT),
    "encode_by_library": (ENCODER | ENCODED, *EDIT),
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/test", TRIPLES, LISTED)
    beir_folder(tmp_path / "data/beir/scifact")
    write(tmp_path / "data" / TRIPLES_FILE, "1\t2\t3\n")
    write_lines(tmp_path / "data" / LISTED_FILE, [LISTED_ROW])
    save_tiny_model(tmp_path / "data/models/some")
    (tmp_path / "data/models/some/model").rename(tmp_path / "data/models/some/bert")
    return tmp_path / "data"


def edit(path, before, after):
    """As an editor that keeps size and time of change, or a copy that brings its own time."""
    times = path.stat()
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("stage", CASES)
def test_what_changed_between_the_plan_and_the_run_is_refused(stage, root, tmp_path, queries, progress):
    chosen, file, before, after = CASES[stage]
    run, out = importlib.import_module(f"repro.retrieval.stages.{stage}").run, tmp_path / "out"
    params = planned(stage, root, **chosen)
    out.mkdir()
    inputs = {"texts": queries}  # of what encodes
    assert run(params, inputs, out, progress)
    edit(root / file, before, after)
    with pytest.raises(DataError, match=r"changed after planning. Run the same command again."):
        run(params, inputs, out, progress)
    edit(root / file, after, before)
    assert run(params, inputs, out, progress)


def test_every_stage_that_reads_a_source_or_checkpoint_is_here():
    assert set(CASES) == {name for name, spec in STAGES.items() if spec.needs & {"source", "checkpoint"}}
