import numpy as np
import pytest

from repro.errors import DataError
from repro.retrieval.evaluation.run_writer import read_metadata
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.stages.imported_run import run
from repro.store.disk import sha256


def _params(path):
    return {"dataset": "some/topics", "sha256": sha256(path), "name": path.name, "source": str(path)}


def test_ties_are_broken_by_document_id_descending_and_ranks_begin_at_one(tmp_path):
    path, out = tmp_path / "theirs", tmp_path / "out"
    path.write_text("q Q0 a 0 1 t\nq Q0 c 1 1 t\nq Q0 b 2 2 t\n")
    out.mkdir()
    facts = run(_params(path), {}, out, None)
    assert facts == {"queries": 1, "lines": 3, "nudged": 1, "depth": 3, "form": "TREC"}
    lines = [line.split() for line in (out / "run.trec").open()]
    assert [(f[2], f[3], f[5]) for f in lines] == [("b", "1", "t"), ("c", "2", "t"), ("a", "3", "t")]
    assert np.load(out / "raw.npy").tolist() == [2, 1, 1]
    assert [d for d, _ in read_run(out / "run.trec")["q"]] == ["b", "c", "a"]


def test_nothing_is_said_of_the_method_of_others(tmp_path):
    path = tmp_path / "theirs"
    path.write_text("q\ta\t1\n")
    run(_params(path), {}, tmp_path, None)
    assert read_metadata(tmp_path / "run.ir_metadata.yml") == {
        "schema-version": 0.1,
        "tag": "imported",
        "data": {"test collection": {"name": "some/topics"}},
    }


def test_a_file_that_changed_since_it_was_looked_at_is_refused(tmp_path):
    path = tmp_path / "theirs"
    path.write_text("q Q0 a 0 1 t\n")
    params = _params(path)
    path.write_text("q Q0 b 0 1 t\n")
    with pytest.raises(DataError, match="changed after planning"):
        run(params, {}, tmp_path, None)
