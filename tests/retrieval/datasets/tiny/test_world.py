import pytest

from repro.retrieval.datasets.tiny import graded_judgements
from repro.retrieval.datasets.tiny.world import (
    Draw,
    deeds,
    deeds_by_key,
    names,
    people,
    question,
    slots,
    towns,
)


def agreement(concepts, deed) -> int:
    return sum(concept.key in deed.keys for concept in concepts.values())


EXPECTED = [13, 23, 86, 28, 4]
OTHER = 75


def test_equal_seeds_give_equal_choices_in_every_version_of_python():
    draw = Draw("seed")
    assert [draw.below(100) for _ in range(5)] == EXPECTED
    assert [Draw("seed").below(100), Draw("other").below(100)] == [EXPECTED[0], OTHER]


def test_no_form_belongs_to_two_concepts_and_every_concept_has_two_or_three():
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    assert len(forms) == len(set(forms))
    for slot, concepts in slots().items():
        assert len(concepts) == 10, slot
        assert all(len(concept.forms) in (2, 3) for concept in concepts)


def test_invented_names_are_different_and_none_is_a_word_of_the_vocabulary():
    given, families = ({pair[side] for pair in names()} for side in (0, 1))
    invented = [*given, *families, *towns()]
    assert len(names()) == len(set(names())) == len(given) * len(families) == 2500
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    vocabulary = {word for form in forms for word in form.split()}
    assert len(set(invented)) == 124 and vocabulary.isdisjoint(name.lower() for name in invented)
    assert all(name[0].isupper() and name.isalpha() for name in invented)


@pytest.fixture
def world():
    draw = Draw("test")
    return deeds(draw, people(draw, 30), each=3)


def test_a_question_has_exactly_one_full_answer(world):
    draw, index = Draw("ask"), deeds_by_key(world)
    for deed in world:
        asked = question(draw, deed, index, sizes=(3, 4))
        assert len(asked) in (3, 4) and {"act", "object"} & set(asked)
        assert [other for other in world if agreement(asked, other) == len(asked)] == [deed]


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
