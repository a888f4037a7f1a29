import hashlib
import json
import os

import pytest

from repro.errors import DataError
from repro.machine.bounded_reading import read_facts
from repro.retrieval.datasets import digests, survey, tiny
from repro.retrieval.datasets.catalog import Judgement, catalog, differing, highest_grade, published
from repro.retrieval.datasets.digests import (
    ContentDigest,
    RowDigest,
    digest,
    identity,
    planned_source,
    unchanged,
)
from repro.retrieval.datasets.sources import Source, locate
from repro.retrieval.datasets.survey import problem, summary
from repro.retrieval.datasets.tiny import world
from tests.retrieval.datasets.folders import beir_folder, without_counts, write

PIECES = {"documents": "beir/scifact", "queries": "beir/scifact/test", "qrels": "beir/scifact/test"}
ONES = "1 of grade 0, 1 of grade 1"


def test_the_digest_follows_names_and_contents_and_order_but_not_the_folder(tmp_path):
    a, b = write(tmp_path / "x/a.txt", "one"), write(tmp_path / "x/b.txt", "two")
    copy = write(tmp_path / "y/a.txt", "one")
    assert digest([a]) == digest([copy]) != digest([b])
    assert digest([a, b]) != digest([b, a])
    assert digest([a]) != digest([write(tmp_path / "z/c.txt", "one")])


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setattr("repro.machine.file_cache.folder", lambda: tmp_path / "kept")
    return tmp_path / "kept"


@pytest.fixture
def settled(monkeypatch):
    monkeypatch.setattr(digests, "SETTLED", -1)


def test_a_known_file_is_not_read_again_until_it_changes(tmp_path, monkeypatch, settled):
    path = write(tmp_path / "a.txt", "one")
    first = digest([path], cached=True)
    read = []
    monkeypatch.setattr(digests, "file_digest", lambda path: read.append(path) or "0")
    assert digest([path], cached=True) == first and read == []
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert digest([path], cached=True) != first and read == [path]


@pytest.mark.parametrize("way", ["written over", "put in its place"])
def test_a_change_of_equal_size_and_time_is_noticed(tmp_path, settled, way):
    path = write(tmp_path / "a.txt", "one")
    first, times = digest([path], cached=True), path.stat()
    other = path if way == "written over" else tmp_path / "other"
    other.write_text("two")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    assert digest([path], cached=True) == digest([path]) != first


def test_a_file_that_changed_a_moment_ago_is_not_remembered(tmp_path, cache):
    path = write(tmp_path / "a.txt", "one")
    assert digest([path], cached=True) == digest([path])
    assert not cache.exists()


def test_equal_files_anywhere_are_the_same_data(tmp_path):
    files = [write(tmp_path / place / "corpus.jsonl", "x") for place in "ab"]
    sources = [Source("d", "documents", "folder", "jsonl", (file,)) for file in files]
    assert identity(sources[0]) == identity(sources[1])
    whole = Source("e", "documents", "parts", parts=tuple(sources))
    assert identity(whole).startswith("sha256:") and identity(whole) != identity(sources[0])


PASSAGES = Source("tiny/passage", "documents", "embedded")


def test_an_embedded_collection_is_known_by_its_rows_and_a_library_s_by_its_version():
    rows = RowDigest()
    for document in tiny.documents("tiny/passage"):
        rows.add({"id": document.id, "title": document.title, "text": document.text})
    assert identity(PASSAGES) == f"rows:{rows.hexdigest()}"
    assert identity(Source("d", "qrels", "library", "ir_datasets")) == "library:d:qrels:1"


@pytest.fixture
def fewer_words(monkeypatch):
    def forget():
        world.slots.cache_clear()
        tiny.collection.cache_clear()
        digests.identity.cache_clear()

    def read(path):
        facts = read_facts(path)
        slot = next(iter(facts))
        return {**facts, slot: {name: forms[:1] for name, forms in facts[slot].items()}}

    monkeypatch.setattr(world, "read_facts", read)
    forget()
    yield
    forget()


@pytest.fixture
def plain_identities():
    small = [id for id in tiny.COLLECTIONS if id != "tiny/passage-many"]
    return {id: identity(Source(id, "documents", "embedded")) for id in small}


def test_a_word_less_is_another_collection(plain_identities, fewer_words):
    params = {"source": PASSAGES.to_json(), "identity": plain_identities["tiny/passage"]}
    with pytest.raises(DataError, match="the embedded collection: changed after"), planned_source(params):
        pass
    for id, plain in plain_identities.items():
        assert identity(Source(id, "documents", "embedded")) != plain, id


def test_rows_are_digested_in_order_and_counted():
    one, two = RowDigest(), RowDigest()
    for id, other in ("ab", "ba"):
        one.add({"id": id})
        two.add({"id": other})
    assert one.count == two.count == 2 and one.hexdigest() != two.hexdigest()
    assert one.hexdigest() == hashlib.sha256(b'{"id":"a"}\n{"id":"b"}\n').hexdigest()


CONTENT = ({"id": "a", "text": "one\n two"}, {"id": "b", "text": "three"})


def _content(*rows):
    digest = ContentDigest()
    for row in rows:
        digest.add(row)
    return digest.hexdigest()


def test_the_content_of_rows_is_the_same_in_any_order_and_with_any_white_space():
    a, b = CONTENT
    assert _content(a, b) == _content(b, {**a, "text": " one two"})
    assert _content(Judgement("q", "d", 1)) == _content(["q", "d", 1])


def test_the_content_of_rows_is_another_with_another_word_row_or_grade():
    a, b = CONTENT
    others = [(a,), (a, a, b), ({**a, "text": "onetwo"}, b), ({**a, "id": "c"}, b), ()]
    assert len({_content(a, b), *(_content(*rows) for rows in others)}) == 1 + len(others)
    assert _content(Judgement("q", "d", 1)) != _content(Judgement("q", "d", 2))


def test_files_that_change_while_they_are_read_are_refused(tmp_path):
    path = write(tmp_path / "a.txt", "one")
    planned = digest([path])

    def read_while(change):
        with unchanged([path], planned, lambda: digest([path])):
            path.read_text()
            change()

    read_while(lambda: None)
    with pytest.raises(DataError, match=r"a\.txt: changed after planning"):
        read_while(lambda: path.write_text("two"))
    path.write_text("one")
    with pytest.raises(DataError, match="changed after"):
        read_while(lambda: write(tmp_path / "new", "one").replace(path))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder whose small collection passes for what SciFact's makers publish."""
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/test")
    beir_folder(tmp_path / "beir/scifact")
    facts = {}
    for piece, dataset in PIECES.items():
        each = summary(locate(dataset, piece, tmp_path))
        facts[f"{dataset} {piece}"] = {**each, "digests": [each["digest"]]}
    monkeypatch.setattr(survey, "published", lambda: facts)
    return tmp_path


def said(root, piece):
    source = locate(PIECES[piece], piece, root)
    noun = {"qrels": "judgements"}.get(piece, piece)
    prefix = f"{source.files[0]}: the {noun} of {PIECES[piece]} differ from the published ones: "
    return problem(source, summary(source)).removeprefix(prefix)


def test_what_is_published_has_no_problem_in_another_order_and_with_other_blanks(root):
    file = root / "beir/scifact/corpus.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    lines = [json.dumps({**row, "text": row["text"].replace(" ", "\n ")}) for row in reversed(rows)]
    file.write_text("\n".join(lines))
    assert [said(root, piece) for piece in PIECES] == ["", "", ""]


@pytest.mark.parametrize(
    ("file", "before", "after", "piece", "sentence"),
    [
        ("corpus.jsonl", '"T1"', '""', "documents", "2 have a title, published 3"),
        ("corpus.jsonl", '"text 1"', '"text one"', "documents", "the same ids with other texts"),
        ("corpus.jsonl", '"d1"', '"w1"', "documents", "other ids"),
        ("queries.jsonl", '"query 3"', '"query"', "queries", "the same ids with other texts"),
        ("qrels/test.tsv", "d0\t2", "d0\t1", "qrels", f"{ONES}, published 1 of grade 0, 1 of grade 2"),
        ("qrels/test.tsv", "d0\t2", "d2\t2", "qrels", "other pairs of a query and a document"),
    ],
)
def test_what_differs_is_said_as_far_as_it_can_be_told(root, file, before, after, piece, sentence):
    path = root / "beir/scifact" / file
    path.write_text(path.read_text().replace(before, after))
    assert said(root, piece) == sentence


def test_records_are_held_against_what_is_published():
    name = "beir/scifact documents"
    [digest] = published()[name]["digests"]
    assert differing({name: digest, "tiny/passage documents": "1", "msmarco-passage documents": "2"}) == []
    words = "the documents of beir/scifact differ from the published ones"
    assert differing({name: "0" * 64}) == [f"{words} (see `repro data check beir/scifact`)"]
    assert differing({name: ""}) == []


def test_every_entry_is_a_piece_of_the_catalogue_that_is_not_embedded():
    for name, facts in published().items():
        dataset, piece = name.split()
        entry = catalog()[dataset]
        assert piece in entry.pieces and entry.source != "embedded" and facts["digests"]
        if piece == "qrels":
            assert sum(facts["grades"].values()) <= entry.counts["qrels"]
    assert highest_grade("msmarco-passage/trec-dl-2019/judged") == 3
    assert highest_grade("msmarco-passage/train-pool-12k/dev") == 1
    assert highest_grade("beir/fiqa/test") is None
