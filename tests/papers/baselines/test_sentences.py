from __future__ import annotations

import numpy as np
import pytest

from papers.baselines.sentences import sentence_ends_of, sentences
from repro.errors import UsageError
from tests.papers.baselines.tiny_texts import ids, texts, written
from tests.tiny_models import tiny_tokenizer


@pytest.fixture(scope="module")
def ends():
    return sentence_ends_of(tiny_tokenizer(), [".", ")"])


def found(text: str, ends) -> list[str]:
    tokens = ids(text)
    return [written(tokens[a:b]) for a, b in sentences(tokens, ends).tolist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the king . a queen", ["the king .", "a queen"]),
        ("the king . a queen .", ["the king .", "a queen ."]),
        ("the kings . . ) a queen", ["the kings . . )", "a queen"]),
        (". . the king . a queen", [". . the king .", "a queen"]),
        ("the king, a queen", ["the king , a queen"]),
        (". .", [". ."]),
        ("king", ["king"]),
    ],
)
def test_a_sentence_ends_after_a_run_of_marks(text, expected, ends):
    assert found(text, ends) == expected


def test_sentences_cover_any_text_without_gap_or_overlap(ends):
    for tokens in texts(2000):
        bounds = sentences(tokens, ends)
        assert bounds[0, 0] == 0 and bounds[-1, 1] == len(tokens)
        assert (bounds[1:, 0] == bounds[:-1, 1]).all() and (bounds[:, 1] > bounds[:, 0]).all()
        for first, end in bounds[:-1].tolist():
            assert ends[tokens[end - 1]] and not ends[tokens[end]]
            assert not ends[tokens[first:end]].all()


def test_tokens_that_a_small_vocabulary_lacks_end_nothing_and_one_must_be_there():
    assert (sentence_ends_of(tiny_tokenizer(), [".", "?"]) == sentence_ends_of(tiny_tokenizer(), ["."])).all()
    assert np.flatnonzero(sentence_ends_of(tiny_tokenizer(), ["."])).tolist() == [ids(".")[0]]
    with pytest.raises(UsageError, match=r"no token that ends a sentence \('\?', '!'\)"):
        sentence_ends_of(tiny_tokenizer(), ["?", "!"])
    with pytest.raises(UsageError, match="none given"):
        sentence_ends_of(tiny_tokenizer(), [])
