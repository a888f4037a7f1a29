"""NanoBEIR as ir_datasets stores it: three Parquet files per dataset."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import repro
from repro.errors import DataError
from repro.locations import Locations
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import Document, Judgement, Query, dataset
from repro.retrieval.datasets.sources import locate
from repro.running.workspace import Workspace
from tests.retrieval.datasets.folders import without_counts
from tests.tiny_models import save_tiny_model

TEXTS = ["the river rises", "a stone bridge", "storms in spring", "the old mill"]


def write_nano(home, name, *, prefix):
    folder = home / "nano-beir" / name
    folder.mkdir(parents=True)
    ids = [f"{prefix}{n}" for n in range(len(TEXTS))]
    pq.write_table(pa.table({"_id": ids, "text": TEXTS}), folder / "corpus.parquet")
    pq.write_table(pa.table({"_id": ["q1", "q2"], "text": ["river ", "mill"]}), folder / "queries.parquet")
    judged = {"query-id": ["q1", "q2", "q2"], "corpus-id": [ids[0], ids[3], ids[1]]}
    pq.write_table(pa.table(judged), folder / "qrels.parquet")
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr("repro.retrieval.datasets.reading.check_home", lambda source: None)
    without_counts(monkeypatch, *dataset("nano-beir").members)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_pieces_of_a_member_are_read(home):
    folder = write_nano(home, "scifact", prefix="d")
    pieces = ("documents", "queries", "qrels")
    documents, queries, qrels = (locate("nano-beir/scifact", piece, None, home=home) for piece in pieces)
    assert documents.kind == queries.kind == qrels.kind == "home"
    assert list(reading.documents(documents)) == [Document(f"d{n}", "", t) for n, t in enumerate(TEXTS)]
    assert reading.queries(queries) == [Query("q1", "river"), Query("q2", "mill")]
    assert reading.judgements(qrels)[0] == Judgement("q1", "d0", 1)
    (folder / "qrels.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"qrels.parquet: it is not a Parquet file"):
        reading.judgements(qrels)


def test_the_catalogue_has_what_ir_datasets_registers():
    from repro.retrieval.datasets.libraries import quiet_ir_datasets

    registered = {name for name in quiet_ir_datasets().registry if name.startswith("nano-beir/")}
    assert set(dataset("nano-beir").members) == registered and len(registered) == 13


def test_an_encoder_has_a_score_on_each_and_their_mean(home, tmp_path):
    members = dataset("nano-beir").members
    for number, name in enumerate(members):
        write_nano(home, name.removeprefix("nano-beir/"), prefix=f"d{number}-")
    save_tiny_model(tmp_path)
    workspace = Workspace(Locations.resolve(str(tmp_path / "store"), str(tmp_path / "results")))
    run = {"q1": {"d3-0": 2.0, "d3-1": 1.0}, "q2": {"d3-3": 1.0}}
    found = repro.compare(
        yours=[tmp_path / "model", run], dataset="nano-beir", measures=["RR@10"], workspace=workspace
    )
    values = {(c.cell.row.label, c.cell.column.id): c.measured for c in found}
    encoder = [values["model", f"{name.rpartition('/')[2]}.RR@10"] for name in members]
    assert values["model", "mean.RR@10"] == pytest.approx(sum(encoder) / 13) and len(encoder) == 13
    assert values.keys() - {("model", column) for _, column in values} == {
        ("yours", f"{members[3].rpartition('/')[2]}.RR@10")
    }
    assert values["yours", f"{members[3].rpartition('/')[2]}.RR@10"] == 1.0
    assert {test["over"] for test in found.tests()} == {"yours-1", "yours-2", None}  # of one run none
