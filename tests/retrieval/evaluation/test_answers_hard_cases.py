"""Properties of answer matching over texts that are hard to cut into tokens."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.retrieval.evaluation.answers import contains_answer, tokens

HARD = (
    "aÀéñÇößŁøıİſςΣ\u0301\u0308かが漢ไ\u0e48אَ९²½€$-–—'’\".,:;!?()[]/\\&%#@_+=<>|~"
    " \t\n\u00a0\u200b\u00ad\ufeff7Zk"
)
TEXTS = st.text(alphabet=HARD, max_size=30)
WORDS = st.text(alphabet="abcéñ1", min_size=1, max_size=5)
PASSAGES = st.lists(WORDS, min_size=1, max_size=12)


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_tokens_hold_no_space_and_are_never_empty(text):
    assert all(token and token.split() == [token] for token in tokens(text))


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=500, deadline=None)
def test_an_answer_set_off_by_spaces_is_found_unless_it_has_no_token(before, answer, after):
    text = f"{before} {answer} {after}"
    assert contains_answer(text, [answer]) is bool(tokens(answer))


@given(TEXTS, TEXTS)
@settings(max_examples=500, deadline=None)
def test_composing_or_decomposing_either_side_changes_nothing(text, answer):
    found = contains_answer(text, [answer])
    for form in ("NFC", "NFD"):
        assert contains_answer(unicodedata.normalize(form, text), [answer]) is found
        assert contains_answer(text, [unicodedata.normalize(form, answer)]) is found


@given(TEXTS, TEXTS)
@settings(max_examples=500, deadline=None)
def test_what_is_found_follows_itself_in_the_tokens(text, answer):
    passage, wanted = tokens(text), tokens(answer)
    stretches = (passage[n : n + len(wanted)] for n in range(len(passage) - len(wanted) + 1))
    assert contains_answer(text, [answer]) is (bool(wanted) and any(one == wanted for one in stretches))


@pytest.mark.parametrize("text", ["", " ", "\u200b"])
def test_no_answer_is_in_a_text_without_tokens(text):
    assert not contains_answer(text, ["", "a"])


@given(PASSAGES, st.data())
@settings(max_examples=300, deadline=None)
def test_case_and_spacing_of_words_do_not_matter(words, data):
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    gap = data.draw(st.sampled_from([" ", "  ", "\n", "\t", "\u00a0", "\u3000"]))
    answer = gap.join(words[first : last + 1])
    assert contains_answer(" ".join(words), [answer.upper()])
    assert contains_answer(" ".join(words).upper(), [answer])


@given(PASSAGES, WORDS)
@settings(max_examples=300, deadline=None)
def test_a_word_is_found_only_whole(words, answer):
    assert contains_answer(" ".join(words), [answer]) is (tokens(answer)[0] in [tokens(w)[0] for w in words])


@given(TEXTS, st.lists(TEXTS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_one_answer_of_several_is_enough_and_their_order_does_not_matter(text, answers):
    found = any(contains_answer(text, [answer]) for answer in answers)
    assert contains_answer(text, answers) is found is contains_answer(text, answers[::-1])


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("Beyoncé sang", "Beyonce", False),  # accents are decomposed, not taken off
        ("Beyonce\u0301 sang", "BEYONCÉ", True),
        ("the U.S. team", "US", False),  # a dot is a token
        ("the U.S. team", "u . s", True),
        ("the U.S.A. team", "U.S.", True),
        ("in 1,204 towns", "1204", False),
        ("in 1,204 towns", "1,204", True),
        ("in 1,204 towns", "204", True),  # the comma cuts the number
        ("O’Varn", "O'Varn", False),  # another apostrophe
        ("rock-and-roll", "rock and roll", False),
        ("rock-and-roll", "and", True),
        ("snake_case", "snake", True),  # an underscore is no letter
        ("non\u00adbreaking", "nonbreaking", False),  # a soft hyphen cuts, and is no token itself
        ("non\u00adbreaking", "non breaking", True),
        ("İstanbul", "i\u0307stanbul", True),
        ("STRASSE", "straße", False),  # lower case, not case folding
        ("x²", "x2", False),
        ("ﬁsh", "fish", False),  # canonical, not compatibility decomposition
        ("東京都", "東京", False),  # letters without spaces between them are one token
        ("(42)", "42", True),
        ("42nd", "42", False),
        ("", "a", False),
        ("a", "", False),
        ("a", "\u200b", False),
    ],
)
def test_hard_cases(text, answer, found):
    assert contains_answer(text, [answer]) is found
