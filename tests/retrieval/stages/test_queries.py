import json

import pytest

from repro.errors import DataError
from repro.retrieval.stages import queries
from tests.noted import Noted
from tests.retrieval.datasets.folders import beir_folder, planned, without_counts


def _run(id, root, out, progress):
    facts = queries.run(planned("queries", root, dataset=id), {}, out, progress)
    lines = (out / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return facts, [json.loads(line) for line in lines]


def test_only_the_queries_of_the_split_are_written(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact/train")
    beir_folder(tmp_path / "beir/scifact")
    facts, rows = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    assert rows == [{"id": "2", "text": "query 2"}, {"id": "1", "text": "query 1"}] and facts["queries"] == 2


def test_answer_sets_carry_their_answers(tmp_path, progress):
    facts, rows = _run("tiny/wiki/test", None, tmp_path, progress)
    assert facts["queries"] == len(rows) == 67
    assert all(set(row) == {"id", "text", "answers"} and row["answers"] for row in rows)
    _, rows = _run("tiny/passage/dev", None, tmp_path, progress)
    assert all(set(row) == {"id", "text"} for row in rows)


def test_it_tells_of_every_query(tmp_path):
    noted = Noted()
    _run("tiny/wiki/test", None, tmp_path, noted)
    assert noted.tasks == {"reading queries of tiny/wiki/test": [67, 67]}


def test_equal_queries_give_equal_digests(tmp_path, progress):
    assert _run("tiny/beir", None, tmp_path, progress) == _run("tiny/beir", None, tmp_path, progress)


def test_another_number_of_queries_is_refused(tmp_path, progress):
    beir_folder(tmp_path / "beir/scifact")
    with pytest.raises(DataError, match="2 queries, but beir/scifact/train has 809"):
        _run("beir/scifact/train", tmp_path, tmp_path, progress)


def test_real_topics_of_two_years_in_one_file_are_those_judged(real_data, tmp_path, progress):
    facts, rows = _run("msmarco-passage/trec-dl-2020/judged", real_data, tmp_path, progress)
    assert facts["queries"] == 54 and all(not row["text"].endswith("\r") for row in rows)


def test_the_content_is_the_same_in_another_order_and_nothing_is_said_of_first_rows(
    tmp_path, progress, monkeypatch
):
    without_counts(monkeypatch, "beir/scifact/train")
    file = beir_folder(tmp_path / "beir/scifact") / "queries.jsonl"
    facts, _ = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    turned, _ = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    assert turned["rows"] == facts["rows"] and turned["digest"] != facts["digest"]
    params = planned("queries", tmp_path, dataset="beir/scifact/train") | {"first": 1}
    assert "rows" not in queries.run(params, {}, tmp_path, progress)
