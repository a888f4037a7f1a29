"""The embedded world: its draws, its words, and what its collections share."""

import pytest

from repro.retrieval.datasets.tiny.passages import graded_judgements
from repro.retrieval.datasets.tiny.telling import ask, ask_for, fill, tell
from repro.retrieval.datasets.tiny.world import (
    Draw,
    agreement,
    deeds,
    names,
    people,
    question,
    slots,
    towns,
    with_article,
)

EXPECTED = [13, 23, 86, 28, 4]
OTHER = 75


def test_equal_seeds_give_equal_choices_in_every_version_of_python():
    draw = Draw("seed")
    assert [draw.below(100) for _ in range(5)] == EXPECTED
    assert [Draw("seed").below(100), Draw("other").below(100)] == [EXPECTED[0], OTHER]


def test_a_sample_has_no_repetition_and_every_item_may_be_first():
    draw = Draw("x")
    firsts = set()
    for _ in range(200):
        sample = draw.sample("abcdef", 4)
        assert len(set(sample)) == 4 <= len(set("abcdef") | set(sample))
        firsts.add(sample[0])
    assert firsts == set("abcdef")


def test_chances_come_true_as_often_as_they_should():
    draw = Draw("y")
    hits = sum(draw.chance(0.2) for _ in range(5000))
    assert abs(hits - 1000) < 4 * 28.3  # standard deviation sqrt(5000 * 0.2 * 0.8) = 28.3
    assert not draw.chance(0.0) and draw.chance(1.0)


def test_no_form_belongs_to_two_concepts_and_every_concept_has_two_or_three():
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    assert len(forms) == len(set(forms))
    for slot, concepts in slots().items():
        assert len(concepts) == 10, slot
        assert all(len(concept.forms) in (2, 3) for concept in concepts)


def test_every_act_has_a_base_and_a_past_form():
    assert all(len(form.split()) == 2 for concept in slots()["act"] for form in concept.forms)


def test_invented_names_are_different_and_none_is_a_word_of_the_vocabulary():
    given, families = ({pair[side] for pair in names()} for side in (0, 1))
    invented = [*given, *families, *towns()]
    assert len(names()) == len(set(names())) == len(given) * len(families) == 2500
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    vocabulary = {word for form in forms for word in form.split()}
    assert len(set(invented)) == 124 and vocabulary.isdisjoint(name.lower() for name in invented)
    assert all(name[0].isupper() and name.isalpha() for name in invented)


def test_the_article_follows_the_sound():
    assert [with_article(noun) for noun in ("oaken box", "lamp")] == ["an oaken box", "a lamp"]


@pytest.fixture
def world():
    draw = Draw("test")
    return deeds(draw, people(draw, 30), each=3)


def test_a_person_keeps_trait_and_trade_in_every_deed(world):
    for first, second in zip(world[::3], world[1::3], strict=True):
        assert first.person is second.person
        assert all(first.concepts[slot] is second.concepts[slot] for slot in ("trait", "trade"))
        assert set(first.concepts) == set(slots())


def test_a_question_has_exactly_one_full_answer(world):
    draw = Draw("ask")
    for deed in world:
        asked = question(draw, deed, world, sizes=(3, 4))
        assert len(asked) in (3, 4) and {"act", "object"} & set(asked)
        assert [other for other in world if agreement(asked, other) == len(asked)] == [deed]


def test_a_told_deed_has_a_form_of_each_of_its_concepts(world):
    draw = Draw("tell")
    for deed in world:
        text = tell(deed, draw, asides=0.0).lower()
        assert deed.person.name.lower() in text and deed.person.town.lower() in text
        for slot, concept in deed.concepts.items():
            forms = [form.split()[-1] for form in concept.forms]
            forms += ["stolen", "hidden", "broken"] if slot == "act" else []
            assert any(form in text for form in forms), (slot, text)


def test_every_sentence_begins_with_a_capital(world):
    for deed in world:
        for sentence in tell(deed, Draw("capital"), asides=1.0).split(". "):
            assert sentence[0].isupper() or not sentence[0].isalpha()


def test_questions_read_as_sentences_or_as_keywords(world):
    act, object, trait, place = (next(iter(slots()[slot])) for slot in ("act", "object", "trait", "place"))
    draw = Draw("q")
    sentence = ask({"act": act, "object": object}, draw, keywords=0.0)
    assert sentence.startswith("who ") and sentence.split()[1].endswith("ed")
    assert " person had to do with " in ask({"trait": trait, "object": object}, draw, keywords=0.0)
    assert " something near the " in ask({"act": act, "place": place}, draw, keywords=0.0)
    assert len(ask({"act": act, "object": object, "trait": trait}, draw, keywords=1.0).split()) == 3
    framed = ask_for("where lived the {person} who {predicate}", {"act": act}, draw)
    assert framed.startswith("where lived the person who ")


def test_grades_fall_with_every_thing_that_is_wrong(world):
    deed = world[0]
    asked = {slot: deed.concepts[slot] for slot in ("act", "object", "place")}
    told = {str(n): (other,) for n, other in enumerate(world)}
    rows = graded_judgements("q", asked, told, Draw("g"), top=3, others=4)
    for row in rows:
        right = agreement(asked, world[int(row.document)])
        assert row.grade == max(0, 3 - (3 - right)) and right > 0
    assert [row.document for row in rows if row.grade == 3] == ["0"]
    every = [n for n, other in enumerate(world) if agreement(asked, other) == 2]
    assert len([row for row in rows if row.grade == 2]) == len(every)
    assert len([row for row in rows if row.grade == 1]) <= 4


def test_a_template_may_be_filled_with_other_concepts(world):
    other = {slot: concepts[0] for slot, concepts in slots().items()}
    assert fill("{place}", world[0], Draw("f"), concepts=other).lower() in slots()["place"][0].forms
