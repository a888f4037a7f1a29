import pytest

from repro.errors import UsageError
from repro.retrieval.datasets import survey as surveys
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.survey import problems_of, survey
from tests.retrieval.datasets.folders import beir_folder, without_counts, write


def check(*places):
    return problems_of(surveys.check(*places))


def _states(root):
    return {row.id: row.state for row in survey(root)}


def test_without_a_folder_only_what_is_embedded_is_there():
    states = _states(None)
    assert list(states) == list(catalog())
    for id, state in states.items():
        assert state == ("embedded" if id.startswith("tiny/") else "missing")


def test_what_lies_in_the_folder_is_found_with_its_files(tmp_path):
    beir_folder(tmp_path / "beir/scifact")
    write(tmp_path / "cranfield/corpus.jsonl", "")
    rows = {row.id: row for row in survey(tmp_path)}
    assert rows["beir/scifact"].state == rows["beir/scifact/test"].state == "found"
    assert rows["cranfield"].state == "partly"
    names = [path.rsplit("/", 1)[1] for path in rows["beir/scifact/test"].where]
    assert names == ["queries.jsonl", "test.tsv"]
    assert rows["beir/scifact/test"].what == "topics with qrels"
    assert rows["beir/scifact"].counts == {"documents": 5183}
    assert rows["beir/scifact"].licence == "CC BY-NC 2.0"


def test_a_mean_is_there_when_all_its_members_are(tmp_path):
    members = catalog()["beir/cqadupstack"].members
    for id in members[1:]:
        beir_folder(tmp_path / id)
    assert _states(tmp_path)["beir/cqadupstack"] == "partly"
    beir_folder(tmp_path / members[0])
    assert _states(tmp_path)["beir/cqadupstack"] == "found"


@pytest.fixture
def few(monkeypatch):
    entries = {id: catalog()[id] for id in ("beir/scifact", "msmarco-passage", "tiny/wiki")}
    monkeypatch.setattr(surveys, "catalog", lambda: entries)


def test_a_sound_collection_has_no_problems(tmp_path, monkeypatch, few):
    monkeypatch.setattr(surveys, "published", dict)
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/train", "beir/scifact/test")
    beir_folder(tmp_path / "beir/scifact")
    assert check(tmp_path, ["beir/scifact", "beir/scifact/train", "tiny/wiki"]) == []
    assert check(tmp_path) == []


def test_each_problem_is_told_once(tmp_path):
    folder = beir_folder(tmp_path / "beir/scifact")
    (folder / "qrels/test.tsv").write_text("3\td0\tx\n")
    problems = [str(problem) for problem in check(tmp_path, ["beir/scifact", "beir/scifact/test"])]
    assert len(problems) == 2
    assert "3 documents, but beir/scifact has 5,183" in problems[0]
    assert problems[1].endswith("test.tsv:1: the grade 'x' is not an integer")


def test_what_was_asked_for_and_is_missing_is_a_problem_with_a_remedy(tmp_path, few):
    [problem] = check(tmp_path, ["msmarco-passage"])
    assert problem.cause == f"the documents of msmarco-passage are not in {tmp_path}"
    assert problem.remedy.startswith("run `repro data fetch msmarco-passage`")
    assert check(tmp_path) == []
    with pytest.raises(UsageError):
        check(tmp_path, ["msmarco"])


def test_the_real_data_is_sound(real_data):
    found = [row.id for row in survey(real_data) if row.state == "found"]
    assert {"beir/scifact", "cranfield", "msmarco-passage/dev/small"} <= set(found)
    assert check(real_data, found) == []


def test_what_is_not_held_against_a_known_digest_has_its_digest_told(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/fiqa/test")
    beir_folder(tmp_path / "beir/fiqa")
    queries, judgements = surveys.check(tmp_path, ["beir/fiqa/test"])
    assert (queries.piece, judgements.piece) == ("queries", "qrels")
    assert judgements.as_json()["grades"] == {0: 1, 2: 1} and judgements.as_json()["problems"] == []
    assert len(queries.facts["digest"]) == 64
