import os
import subprocess
import sys
import threading

import pandas as pd
import pytest
from ir_measures import RR, nDCG

import repro
from repro.errors import DataError, UsageError
from repro.locations import Locations
from repro.plugins.yours.runs import OwnRun, judgements
from repro.progress import Progress
from repro.running.workspace import Workspace
from tests.tiny_models import save_tiny_model

DATASET = "tiny/passage/dev"
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
LINES = [(q, d, s) for q, of in RUN.items() for d, s in of.items()]
JUDGED = [(q, d, g) for q, of in QRELS.items() for d, g in of.items()]
LIMIT = 300


def mean(**given) -> float:
    [cell] = repro.compare(**({"yours": RUN, "qrels": QRELS, "measures": ["RR@10"]} | given))
    return cell.measured


@pytest.mark.parametrize(
    "columns", [("q_id", "doc_id", "score"), ("qid", "docno", "score"), ("query_id", "doc_id", "score")]
)
def test_runs_and_judgements_in_memory_are_scored_like_files(tmp_path, columns):
    (tmp_path / "a.run").write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in LINES))
    assert mean() == mean(yours=tmp_path / "a.run") == 0.75
    assert mean(yours=pd.DataFrame(LINES, columns=columns)) == mean(measures=RR @ 10) == 0.75
    label = {"q_id": "score", "qid": "label", "query_id": "relevance"}[columns[0]]
    assert mean(qrels=pd.DataFrame(JUDGED, columns=[*columns[:2], label]), measures=[RR @ 10]) == 0.75
    assert mean(measures=[nDCG @ 10]) == mean(measures=["nDCG@10"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"yours": {"q1": {"a": float("nan")}}}, "is not a finite float32 number"),
        ({"yours": {"q1": {"a": "high"}}}, "the score 'high' is not a finite"),
        ({"yours": {"q1": {"1": 1.0, 1: 2.0}}}, "document '1' is listed twice for query 'q1'"),
        ({"yours": {"q1": {}}}, "the dict contains no document"),
        ({"yours": {"q1": 0.5}}, "names no model"),
        ({"yours": pd.DataFrame(LINES, columns=["q", "d", "s"])}, "has no column q_id or qid or query_id"),
        ({"yours": 5}, "a run or an encoder of type int cannot be used"),
        ({"yours": "."}, "is not a model directory"),
        ({"qrels": {"q1": {"a": 0.5}}}, "the grade 0.5 is not a whole number"),
        ({"qrels": {"q1": {"a": float("inf")}}}, "the grade inf is not a whole number"),
        ({"qrels": {"q1": {"a": 0}}}, "nothing is relevant"),
        ({"qrels": {"q1": "a"}}, "judgements of type dict cannot be used"),
    ],
)
def test_other_objects_are_refused_in_one_sentence(given, words):
    many = {f"q{n}": {f"d{d}": 1.0 for d in range(50)} for n in range(100)}
    with pytest.raises((UsageError, DataError), match=words) as refused:
        mean(**({"yours": many} | given))
    assert len(str(refused.value)) < LIMIT and "\n" not in str(refused.value)


def test_a_description_in_the_home_folder_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "encoder.yaml").write_text("kind: dense\n")
    with pytest.raises(UsageError, match="names no model"):
        mean(yours="~/encoder.yaml")


def test_runs_from_pipes_are_read_like_files(tmp_path):
    text = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in LINES)
    (tmp_path / "q.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in JUDGED))
    os.mkfifo(tmp_path / "fifo")
    threading.Thread(target=lambda: (tmp_path / "fifo").write_text(text), daemon=True).start()
    given = ["-", "fifo", "--qrels", "q.qrels", "--measure", "RR@10", "--per-query"]
    options = {"input": text, "cwd": tmp_path, "text": True, "capture_output": True}
    said = subprocess.run([sys.executable, "-m", "repro", "compare", *given], check=False, **options)
    assert said.returncode == 0, said.stderr
    scores = [f"RR@10,RR@10,{row},{score}" for row in ("stdin", "fifo") for score in ("q1,1.0", "q2,0.5")]
    assert said.stdout.splitlines()[1:] == scores


def test_scores_by_query_name_files_and_captions_have_no_folders(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.run").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 1 other\n")
    (tmp_path / "q.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in JUDGED))
    files = [tmp_path / folder / "my.run" for folder in ("a", "b")]
    found = repro.compare(yours=files, qrels=tmp_path / "q.qrels", measures=["RR@10"])
    assert {line["row"] for line in found.scores_by_query()} == {"my.run (a)", "my.run (b)"}
    assert "/" not in found.to_latex().partition(r"\caption")[2].partition(r"\label")[0].replace(r"p\le", "")
    assert any("has 2 run tags, e.g. 't' and 'other'" in note for note in found.yours[0].rows[0].notes)
    assert found.yours[0].notes == ("RR@10: the permutation test on 2 queries has no p-value below 0.5",)


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def test_an_encoder_is_scored_on_a_dataset_and_tested_against_a_run(tmp_path):
    from sentence_transformers import SentenceTransformer

    workspace = Workspace(Locations.resolve(str(tmp_path / "store"), str(tmp_path / "results")))
    save_tiny_model(tmp_path)
    run = {query: dict.fromkeys(list(of)[:1], 1.0) for query, of in judgements(DATASET).items()}
    given = {"dataset": DATASET, "measures": ["RR@10"], "workspace": workspace}
    notes = Notes()
    found = repro.compare(yours=[tmp_path / "model", run], progress=notes, **given)
    values = {c.cell.row.label: c.measured for c in found}
    assert set(values) == {"model", "yours"} and 0 < values["model"] < values["yours"]
    assert [test["over"] for test in found.tests()] == ["yours-2", "yours-1"]
    assert any(note.startswith("model: encoding 900 passages takes about ") for note in notes.notes)
    [stored] = (tmp_path / "store" / "search").glob("*/run.trec")
    assert OwnRun(stored).label == "run"
    [cell] = repro.compare(yours=SentenceTransformer(str(tmp_path / "model")), **given)
    assert (cell.cell.row.label, cell.measured) == ("encoder", values["model"])
    with pytest.raises(UsageError, match=r"model is an encoder and needs texts\. Name their --dataset"):
        repro.compare(yours=tmp_path / "model", qrels=QRELS, measures=["RR@10"], workspace=workspace)
