import random

import pytest

from repro.errors import DataError, UsageError
from repro.retrieval.evaluation.answers import contains_answer, read_answers, score_by_answers, tokens


def contains_as_loops(text, answers):
    """The rule written out: compare the answer with every stretch of tokens of its length."""
    passage = tokens(text)
    for answer in map(tokens, answers):
        for start in range(len(passage) - len(answer) + 1):
            if answer and passage[start : start + len(answer)] == answer:
                return True
    return False


def test_letters_digits_and_marks_form_tokens_and_other_signs_stand_alone():
    assert tokens("May 18, 2018: U.S.A.\u00a0\u200b(Gatto!)") == [
        "may",
        "18",
        ",",
        "2018",
        ":",
        "u",
        ".",
        "s",
        ".",
        "a",
        ".",
        "(",
        "gatto",
        "!",
        ")",
    ]


def test_accents_are_decomposed_and_not_removed():
    assert tokens("Röntgen") == tokens("Ro\u0308ntgen") == ["ro\u0308ntgen"]
    assert contains_answer("Wilhelm Conrad RÖNTGEN won it", ["Wilhelm Conrad Röntgen"])
    assert not contains_answer("Wilhelm Conrad Rontgen won it", ["Wilhelm Conrad Röntgen"])


def test_a_token_is_lower_cased_alone():
    assert tokens("ΟΔΟΣ") == ["οδος"]
    assert tokens("Σ") == ["σ"]


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("released on May 18 , 2018 .", ["May 18, 2018"], True),
        ("the cat sat", ["at"], False),  # parts of tokens do not count
        ("the cat sat", ["cat the"], False),
        ("the cat sat", ["dog", "The Cat"], True),
        ("the cat sat", [], False),
        ("the cat sat", ["", "  "], False),
        ("", ["cat"], False),
    ],
)
def test_an_answer_is_found_where_its_tokens_follow_each_other(text, answers, found):
    assert contains_answer(text, answers) is found


def test_containment_equals_the_loop_over_all_stretches():
    chooser = random.Random(0)
    words = ["a", "b", "ab", "a.b", "é", "É", "-", "b-a", " ", "\n"]
    for _ in range(500):
        text = " ".join(chooser.choices(words, k=12))
        answer = chooser.choice(["", " "]).join(chooser.choices(words, k=chooser.randint(1, 3)))
        assert contains_answer(text, [answer]) == contains_as_loops(text, [answer])


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
    with pytest.raises(UsageError, match="not defined for answers; known there: Success@k"):
        score_by_answers({"q": []}, {"q": ["x"]}, {}, [measure])


def test_questions_with_equal_text_are_all_kept(tmp_path):
    path = tmp_path / "queries.jsonl"
    lines = ['{"id": "1", "text": "who", "answers": ["a"]}', '{"id": "2", "text": "who", "answers": []}']
    path.write_text("\n".join(lines))
    assert read_answers(path) == {"1": ["a"], "2": []}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"id": "2", "text": "who"}', "no JSON object with id and answers"),
        ('{"id": "2", "answers": "a"}', "answers are not a list of strings"),
        ('{"id": "1", "answers": ["a"]}', "query '1' comes twice"),
    ],
)
def test_a_foreign_line_is_refused_with_its_number(tmp_path, line, reason):
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"id": "1", "answers": ["a"]}}\n{line}\n')
    with pytest.raises(DataError, match=f"queries.jsonl:2: {reason}"):
        read_answers(path)


def test_an_answer_without_a_token_is_in_every_text_or_in_none():
    for answer in ("", "  ", "\u200b"):
        assert not contains_answer("the cat", [answer]) and not contains_answer("the cat", [answer, "dog"])
        assert contains_answer("the cat", [answer], tokenless=True) and contains_answer(
            "", [answer], tokenless=True
        )
    run, texts = {"q": [("d1", 2.0)]}, {"d1": "the cat"}
    found = [
        score_by_answers(run, {"q": [""]}, texts, ["Success@1"], tokenless=rule).means["Success@1"]
        for rule in (False, True)
    ]
    assert found == [0.0, 1.0]
    assert not contains_answer("the cat", ["dog"], tokenless=True)
