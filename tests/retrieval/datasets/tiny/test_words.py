from repro.retrieval.datasets.tiny.world import names, slots, towns, with_article


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
