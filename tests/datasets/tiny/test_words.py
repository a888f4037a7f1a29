from repro.datasets.tiny.draw import Draw
from repro.datasets.tiny.words import FAMILY_ENDINGS, given_names, invented_names, slots, with_article


def test_no_form_belongs_to_two_concepts_and_every_concept_has_two_or_three():
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    assert len(forms) == len(set(forms))
    for slot, concepts in slots().items():
        assert len(concepts) == 10, slot
        assert all(len(concept.forms) in (2, 3) for concept in concepts)


def test_every_act_has_a_base_and_a_past_form():
    assert all(len(form.split()) == 2 for concept in slots()["act"] for form in concept.forms)


def test_invented_names_are_different_and_none_is_a_word_of_the_vocabulary():
    names = invented_names(Draw("n"), FAMILY_ENDINGS, 300) + given_names(Draw("m"), 300)
    forms = [form for concepts in slots().values() for concept in concepts for form in concept.forms]
    vocabulary = {word for form in forms for word in form.split()}
    assert len(set(names)) == len(names) and vocabulary.isdisjoint(name.lower() for name in names)
    assert all(name[0].isupper() and name.isalpha() for name in names)


def test_the_article_follows_the_sound():
    assert [with_article(noun) for noun in ("oaken box", "lamp")] == ["an oaken box", "a lamp"]
