import json

import pytest

from repro.retrieval.datasets import digests
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.digests import differing, highest_grade, problem, summary, unknown
from repro.retrieval.datasets.sources import locate
from tests.retrieval.datasets.folders import beir_folder, without_counts

PIECES = {"documents": "beir/scifact", "queries": "beir/scifact/test", "qrels": "beir/scifact/test"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder whose small collection passes for what SciFact's makers publish."""
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/test")
    beir_folder(tmp_path / "beir/scifact")
    facts = {}
    for piece, dataset in PIECES.items():
        each = summary(locate(dataset, piece, tmp_path))
        facts[f"{dataset} {piece}"] = {**each, "digests": [each["digest"]]}
    monkeypatch.setattr(digests, "published", lambda: facts)
    return tmp_path


def said(root, piece):
    source = locate(PIECES[piece], piece, root)
    sentence = problem(source, summary(source))
    return sentence.removeprefix(
        f"{source.files[0]}: the {piece} of {PIECES[piece]} are not those published: "
    )


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
        ("corpus.jsonl", '"text 1"', '"text one"', "documents", "the ids are the same, but not the texts"),
        ("corpus.jsonl", '"d1"', '"w1"', "documents", "their ids are others"),
        ("queries.jsonl", '"query 3"', '"query"', "queries", "the ids are the same, but not the texts"),
    ],
)
def test_what_differs_is_said_as_far_as_it_can_be_told(root, file, before, after, piece, sentence):
    path = root / "beir/scifact" / file
    path.write_text(path.read_text().replace(before, after))
    assert said(root, piece) == sentence


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("d0\t2", "d0\t1", "1 of grade 0, 1 of grade 1, published 1 of grade 0, 1 of grade 2"),
        ("d0\t2", "d2\t2", "their pairs of a query and a document are others"),
    ],
)
def test_of_judgements_the_grades_and_the_pairs_are_told(root, before, after, sentence):
    path = root / "beir/scifact/qrels/test.tsv"
    path.write_text(path.read_text().replace(before, after))
    words = f"{path}: the judgements of beir/scifact/test are not those published: {sentence}"
    source = locate("beir/scifact/test", "qrels", root)
    assert problem(source, summary(source)) == words


def test_records_are_held_against_what_is_published():
    name = "beir/scifact documents"
    [digest] = digests.published()[name]["digests"]
    assert differing({name: digest, "tiny/passage documents": "1", "msmarco-passage documents": "2"}) == []
    words = "the documents of beir/scifact are not as published; `repro data check beir/scifact` says"
    assert differing({name: "0" * 64}) == [f"{words} what differs"]
    assert differing({name: ""}) == []


def test_what_nothing_is_known_of_is_named_but_nothing_embedded():
    rows = {"beir/scifact/test qrels": "0", "msmarco-passage documents": "1", "tiny/passage documents": "2"}
    assert unknown(rows) == ["documents of msmarco-passage"]
    assert unknown({"beir/scifact/test qrels": ""}) == ["judgements of beir/scifact/test"]


def test_every_entry_is_a_piece_of_the_catalogue_that_is_not_embedded():
    for name, facts in digests.published().items():
        dataset, piece = name.split()
        entry = catalog()[dataset]
        assert piece in entry.pieces and entry.source != "embedded" and facts["digests"]
        if piece == "qrels":
            assert sum(facts["grades"].values()) <= entry.counts["qrels"]
    assert highest_grade("msmarco-passage/trec-dl-2019/judged") == 3
    assert (
        highest_grade("msmarco-passage/train-pool-12k/dev") == 1 and highest_grade("beir/fiqa/test") is None
    )
