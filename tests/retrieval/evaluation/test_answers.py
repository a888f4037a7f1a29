import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.errors import DataError, UsageError
from repro.retrieval.evaluation.answers import contains_answer, read_answers, score_by_answers, tokens


def test_letters_digits_and_marks_form_tokens_and_other_signs_stand_alone():
    found = tokens("May 18, 2018: U.S.A.\u00a0\u200b(Gatto!)")
    assert found == ["may", "18", ",", "2018", ":", "u", ".", "s", ".", "a", ".", "(", "gatto", "!", ")"]


def test_accents_are_decomposed_and_not_removed():
    assert tokens("Röntgen") == tokens("Ro\u0308ntgen") == ["ro\u0308ntgen"]
    assert contains_answer("Wilhelm Conrad RÖNTGEN won it", ["Wilhelm Conrad Röntgen"])
    assert not contains_answer("Wilhelm Conrad Rontgen won it", ["Wilhelm Conrad Röntgen"])


def test_the_rule_is_that_of_the_released_evaluation():
    theirs = pytest.importorskip("pyserini.eval.evaluate_dpr_retrieval")
    tokenizer = theirs.SimpleTokenizer()
    texts = ["Röntgen won in 1901.", "ΟΔΟΣ Αθηνών", "U.S. Route 66", "naïve café, résumé", "x²+y² = 5 €"]
    answers = ["1901", "Rontgen", "röntgen", "οδος", "route 66", "U.S", "café", "y² =", "€", "5€", "esume"]
    for text in texts:
        for answer in answers:
            assert contains_answer(text, [answer]) == theirs.has_answers(text, [answer], tokenizer)


def test_success_counts_questions_answered_in_time():
    texts = {"d1": "nothing here", "d2": "it was in Paris", "d3": "Rome it was"}
    run = {
        "q1": [("d1", 3.0), ("d2", 2.0), ("d3", 1.0)],
        "q2": [("d3", 2.0), ("d1", 1.0)],
        "other": [("unknown", 1.0)],
    }
    answers = {"q1": ["Paris"], "q2": ["London"], "q3": ["Rome"]}
    scores = score_by_answers(run, answers, texts, ["Success@1", "Success@2"])
    assert scores.queries == ["q1", "q2", "q3"]
    assert scores.measures == {"Success@1": [0.0, 0.0, 0.0], "Success@2": [1.0, 0.0, 0.0]}
    assert scores.missing == ["q3"]
    assert scores.ignored == 1


def test_texts_below_the_largest_cut_off_are_not_asked_for():
    scores = score_by_answers({"q": [("d1", 2.0), ("d2", 1.0)]}, {"q": ["x"]}, {"d1": "x"}, ["Success@1"])
    assert scores.measures == {"Success@1": [1.0]}


@pytest.mark.parametrize("measure", ["RR@10", "R@20", "Success(rel=2)@20"])
def test_other_measures_are_not_defined_for_answers(measure):
    with pytest.raises(UsageError, match=r"not defined for answers\. Use Success@k"):
        score_by_answers({"q": []}, {"q": ["x"]}, {}, [measure])


def test_questions_with_equal_text_are_all_kept(tmp_path):
    path = tmp_path / "queries.jsonl"
    lines = ['{"id": "1", "text": "who", "answers": ["a"]}', '{"id": "2", "text": "who", "answers": []}']
    path.write_text("\n".join(lines))
    assert read_answers(path) == {"1": ["a"], "2": []}


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "2", "text": "who"}'])
def test_a_foreign_line_is_refused(tmp_path, line):
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"id": "1", "answers": ["a"]}}\n{line}\n')
    with pytest.raises(DataError, match=r"queries.jsonl: not lines of JSON with id and answers"):
        read_answers(path)


def test_an_answer_without_a_token_is_in_every_text_or_in_none():
    for answer in ("", "  ", "\u200b"):
        assert not contains_answer("the cat", [answer]) and not contains_answer("the cat", [answer, "dog"])
        assert all(contains_answer(text, [answer], tokenless=True) for text in ("the cat", ""))
    run, texts = {"q": [("d1", 2.0)]}, {"d1": "the cat"}
    found = [
        score_by_answers(run, {"q": [""]}, texts, ["Success@1"], tokenless=rule).means["Success@1"]
        for rule in (False, True)
    ]
    assert found == [0.0, 1.0]
    assert not contains_answer("the cat", ["dog"], tokenless=True)


HARD = (
    "aÀéñÇößŁøıİſςΣ\u0301\u0308かが漢ไ\u0e48אَ९²½€$-–—'’\".,:;!?()[]/\\&%#@_+=<>|~"
    " \t\n\u00a0\u200b\u00ad\ufeff7Zk"
)
TEXTS = st.text(alphabet=HARD, max_size=30)


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


@given(TEXTS, st.lists(TEXTS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_one_answer_of_several_is_enough_and_their_order_does_not_matter(text, answers):
    found = any(contains_answer(text, [a]) for a in answers)
    assert contains_answer(text, answers) is found is contains_answer(text, answers[::-1])


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("Beyoncé sang", "Beyonce", False),  # accents are decomposed, not taken off
        ("Beyonce\u0301 sang", "BEYONCÉ", True),
        ("the U.S. team", "US", False),
        ("the U.S. team", "u . s", True),
        ("the U.S.A. team", "U.S.", True),
        ("in 1,204 towns", "1204", False),
        ("in 1,204 towns", "1,204", True),
        ("in 1,204 towns", "204", True),  # the comma cuts the number
        ("O’Varn", "O'Varn", False),
        ("rock-and-roll", "rock and roll", False),
        ("rock-and-roll", "and", True),
        ("snake_case", "snake", True),
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
