import pytest

from repro.retrieval.stages.lucene.__main__ import TRIMMED, Commits, json_document


def test_what_java_strips_ends_with_the_blank():
    assert " \t\n\x00\x1f".strip(TRIMMED) == "" and "!\u00a0".strip(TRIMMED) == "!\u00a0"


@pytest.mark.parametrize(
    ("changes", "multifield", "document"),
    [
        ({}, False, {"contents": "On moss\nMoss is green."}),
        ({"title": ""}, False, {"contents": "Moss is green."}),
        ({"url": "http://moss.example"}, False, {"contents": "http://moss.example\nOn moss\nMoss is green."}),
        ({}, True, {"title": "On moss", "contents": "Moss is green."}),
    ],
)
def test_contents_are_address_title_and_text_or_the_title_has_a_field(changes, multifield, document):
    row = {"id": "d1", "title": "On moss", "text": "Moss is green."} | changes
    assert json_document(row, multifield=multifield) == {"id": "d1", **document}


COUNTS = {"documents": 3, "without_contents": 1}


@pytest.fixture
def index(tmp_path):
    (tmp_path / "index").mkdir()
    (tmp_path / "index/_0.cfs").write_text("documents")
    (tmp_path / "index/write.lock").touch()
    Commits(tmp_path / "index", tmp_path / "note").add(COUNTS)
    (tmp_path / "index/_1.cfs").write_text("half")
    return tmp_path / "index"


def resumed(index):
    return Commits(index, index.parent / "note").resume()


def test_an_index_that_is_as_it_was_committed_is_added_to(index):
    assert resumed(index) == COUNTS and (index / "_1.cfs").exists()


def test_digests_of_files_that_lucene_keeps_are_kept(index):
    commits = Commits(index, index.parent / "note")
    commits.resume()
    (index / "_1.cfs").write_text("whole")
    commits.add({"documents": 5, "without_contents": 1})
    assert resumed(index)["documents"] == 5


@pytest.mark.parametrize("file", ["index/_0.cfs", "note"])
@pytest.mark.parametrize("content", ["", "{}", None])
def test_an_index_or_note_that_changed_is_begun_anew(index, file, content):
    path = index.parent / file
    path.unlink() if content is None else path.write_text(content)
    assert resumed(index) == {} and not index.exists()


def test_an_index_with_a_commit_that_was_not_noted_is_begun_anew(index):
    (index / "segments_2").touch()
    assert resumed(index) == {} and not index.exists()
