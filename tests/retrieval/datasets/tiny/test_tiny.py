"""Invariants of the embedded collections; what is generated is pinned."""

import re
import unicodedata

import pytest

from repro.retrieval.datasets import tiny
from repro.retrieval.datasets.digests import RowDigest

# A change here changes what every tiny run measures, and by that its fingerprints.
PINNED = {
    "tiny/passage": "ad1b1749ae6d43995550ce5ba430ece8eec79de168ab583029e0c3175e6c3663",
    "tiny/passage-many": "af6ffea267cef8ccbbac63f9f076916afcceaf1014093660a2ccc479543c0d2c",
    "tiny/document": "c9896983a84374cf46d3ddc359a82a81e096c6778296bd27ff7fe172d2dc8bcc",
    "tiny/wiki": "de483e7d4e62f88036bbdbb1276c247eab2b5ef2fea4af0688782ab0f3d96cad",
    "tiny/beir": "21d6ac5208f1a06ad438059684f789de94a79af093d9f1fb684a7c7b5a5ba8b3",
    "tiny/cqadupstack/mending": "89acd1a9098dbd5a1a5a7d7d00c79b207f9a8f6a9792940f53b51992ed72a600",
    "tiny/cqadupstack/travel": "c294fca03fad528e6592dd244fda0565bc39e07d71a8b1bc6627492548f5dd0b",
    "tiny/text": "141e153d1083595f05a0a08977a1d7b49d3351866988b9fa1d27fcf27afe6c8f",
    "tiny/text/books": "4efa3b78bba69c5fc98d38a23c37f4d4ea00a47394f03b777784c119e23bd02d",
}


def _digest(id):
    made = tiny.collection(id)
    digest = RowDigest()
    for rows in (made.documents, *((t.queries, t.judgements) for t in made.topics.values())):
        for row in rows:
            digest.add(row)
    return digest.hexdigest()


@pytest.mark.parametrize("id", tiny.COLLECTIONS)
def test_what_is_generated_is_the_same_everywhere(id):
    assert _digest(id) == PINNED[id]


@pytest.mark.parametrize("id", tiny.COLLECTIONS)
def test_judgements_are_about_documents_and_queries_that_exist(id):
    documents = {document.id for document in tiny.documents(id)}
    for topics in filter(lambda topics: topics.judgements, tiny.collection(id).topics.values()):
        queries, judgements = {q.id for q in topics.queries}, topics.judgements
        assert {row.document for row in judgements} <= documents
        assert {row.query for row in judgements} == queries
        assert len({row[:2] for row in judgements}) == len(judgements)
        assert {row.query for row in judgements if row.grade > 0} == queries


def test_training_has_one_relevant_document_and_graded_sets_have_all_grades():
    for id in ("tiny/passage", "tiny/passage-many", "tiny/document"):
        for split in ("train", "dev"):
            assert [row.grade for row in tiny.judgements(id, split)] == [1] * len(tiny.queries(id, split))
        for split in ("dl19", "dl20"):
            rows = tiny.judgements(id, split)
            assert {row.grade for row in rows} == {0, 1, 2, 3}
            best = [row.query for row in rows if row.grade == 3]
            assert len(set(best)) == len(tiny.queries(id, split)) and len(rows) > 5 * len(set(best))
    assert {row.grade for row in tiny.judgements("tiny/beir", "test")} == {0, 1, 2}


@pytest.mark.parametrize("id", ["tiny/passage", "tiny/passage-many", "tiny/document", "tiny/wiki"])
def test_no_evaluation_question_is_trained_on_nor_a_document_relevant_to_both(id):
    splits = tiny.collection(id).topics
    trained = {q.text for q in splits["train"].queries}
    seen = {row.document for row in splits["train"].judgements}
    for name, topics in splits.items():
        if name != "train":
            assert trained.isdisjoint(q.text for q in topics.queries)
            best = max((row.grade for row in topics.judgements), default=0)
            if id == "tiny/document":
                continue
            assert seen.isdisjoint(row.document for row in topics.judgements if row.grade == best)


def test_pre_training_text_is_about_people_whom_nobody_asks_for():
    texts = {document.title for document in tiny.documents("tiny/text")}
    lives = {document.title.split(" of ")[0] for document in tiny.documents("tiny/document")}
    assert len(texts) == 1200 and texts.isdisjoint(lives)
    topics = [topics for id in tiny.COLLECTIONS for topics in tiny.collection(id).topics.values()]
    asked = {query.text for of_split in topics for query in of_split.queries}
    told = [*tiny.documents("tiny/text"), *tiny.documents("tiny/text/books")]
    lines = {line for document in told for line in document.text.split("\n")}
    assert asked.isdisjoint(lines)


def _tokens(text):
    folded = unicodedata.normalize("NFD", text).lower()
    return re.findall(r"[\w\u0300-\u036f]+|[^\w\s]", folded)


def _has(text, answer):
    words, wanted = _tokens(text), _tokens(answer)
    return any(words[i : i + len(wanted)] == wanted for i in range(len(words)))


def test_every_judged_passage_contains_an_accepted_answer():
    texts = {document.id: document.text for document in tiny.documents("tiny/wiki")}
    for split in ("train", "dev"):
        answers = {q.id: q.answers for q in tiny.queries("tiny/wiki", split)}
        for row in tiny.judgements("tiny/wiki", split):
            assert any(_has(texts[row.document], a) for a in answers[row.query]), row
    for query in tiny.queries("tiny/wiki", "test"):
        assert any(_has(text, answer) for text in texts.values() for answer in query.answers), query


def test_the_hard_answers_trip_a_careless_matcher():
    hard = {q.text: q for q in tiny.queries("tiny/wiki", "test")[-7:]}
    documents = tiny.documents("tiny/wiki")
    texts = [document.text for document in documents]
    (accents,) = hard["who drew up the tower of velloume"].answers
    assert not any(accents in text for text in texts)  # same letters, other code points
    (capitals,) = hard["who owns the ferry at inverlath"].answers
    assert not any(capitals in text for text in texts)
    (part,) = hard["who dug the well of skarnholt"].answers
    assert sum(part in text for text in texts) > sum(_has(text, part) for text in texts) == 1
    assert any(row.title == "Thessoly" and "Thessoly" not in row.text for row in documents)


def test_some_queries_of_the_zero_shot_set_are_documents_and_bear_their_ids():
    texts = {document.id: document.text for document in tiny.documents("tiny/beir")}
    same = [q for q in tiny.queries("tiny/beir", "test") if q.id in texts]
    assert len(same) == 15 and all(texts[q.id] == q.text for q in same)
    relevant = {row.query: row.document for row in tiny.judgements("tiny/beir", "test") if row.grade == 2}
    assert all(relevant[q.id] != q.id for q in same)
