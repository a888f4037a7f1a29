from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from repro.retrieval.nn import token_rows
from repro.retrieval.nn.token_pairs import paired_rows
from repro.retrieval.nn.token_rows import TokenRows, token_ids
from tests.tiny_models import MARKS, PIECES, SPECIAL, WORDS, tiny_tokenizer

# words, marks and special tokens, with and without blanks between, among characters that BERT treats apart:
# accents and marks that combine, Chinese ones, controls, other blanks, letters that grow when lower-cased
ODD = ("\u0301", "\u0323", "é", "中", "\u0000", "\u200d", "\u00a0", "\u2003", "\t", "\n", "İ", "Σ", "ß", "𝔸")
PARTS = (*WORDS[:20], *PIECES, *MARKS, *SPECIAL, *ODD, "x" * 120, " ", " ", " ", "  ")
TEXTS = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


def theirs(texts, length, *pairs):
    encoded = tiny_tokenizer()(list(texts), *pairs, max_length=length, truncation=True, verbose=False)
    return encoded["input_ids"], encoded["token_type_ids"]


@settings(max_examples=80)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.integers(3, 12), st.integers(1, 4))
def test_the_ids_of_a_beginning_are_those_of_the_whole_text(texts, length, characters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_rows, "CHARACTERS", characters)
        assert token_ids(tiny_tokenizer(), texts, length=length) == theirs(texts, length)[0]


@settings(max_examples=80)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3), st.integers(4, 14), st.integers(1, 4))
def test_pairs_are_what_the_tokenizer_makes_of_them(pairs, length, characters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_rows, "CHARACTERS", characters)
        rows = paired_rows(tiny_tokenizer(), *zip(*pairs, strict=True), length=length)
    ends = np.cumsum(rows.lengths)
    for pair, end, size in zip(pairs, ends, rows.lengths, strict=True):
        wanted = theirs([pair[0] or pair[1]], length, *([[pair[1]]] if pair[0] else []))
        assert rows.ids[end - size : end].tolist() == wanted[0][0]
        assert rows.kinds[end - size : end].tolist() == wanted[1][0]


class Library:
    """A tokenizer's library that notes how many characters it is given."""

    def __init__(self, library):
        self.library, self.read = library, []

    def __getattr__(self, name):
        return getattr(self.library, name)

    def encode_batch_fast(self, texts, **how):
        self.read += map(len, texts)
        return self.library.encode_batch_fast(texts, **how)


class Noted:
    """A tokenizer with such a library."""

    def __init__(self, tokenizer):
        self.tokenizer, self.backend_tokenizer = tokenizer, Library(tokenizer.backend_tokenizer)
        self.read = self.backend_tokenizer.read

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)


def test_of_a_long_document_only_a_beginning_is_read():
    tokenizer, document = Noted(tiny_tokenizer()), "river bridge castle " * 5000
    [ids] = token_ids(tokenizer, [document], length=16)
    assert ids == theirs([document], 16)[0][0] and sum(tokenizer.read) < 200


def test_more_is_read_where_too_few_tokens_come_out():
    tokenizer, document = Noted(tiny_tokenizer()), "river " + " " * 2000 + "bridge " * 500
    short = "castle"
    ids = token_ids(tokenizer, [document, short], length=16)
    assert ids == theirs([document, short], 16)[0]
    assert tokenizer.read == [96, 6, 192, 384, 768, 1536, 3076]


def test_a_text_without_blanks_is_read_whole():
    tokenizer, document = Noted(tiny_tokenizer()), "中" * 900
    assert token_ids(tokenizer, [document], length=16) == theirs([document], 16)[0]
    assert tokenizer.read == [900]


def test_all_of_a_text_is_read_where_a_token_may_reach_over_a_blank():
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(vocab=dict(tiny_tokenizer().get_vocab()))
    tokenizer.add_tokens([AddedToken("bridge castle", normalized=False)])
    document, noted = "river bridge castle " * 40, Noted(tokenizer)
    [ids] = token_ids(noted, [document], length=5)
    assert ids == tokenizer([document], max_length=5, truncation=True)["input_ids"][0]
    assert noted.read == [len(document)]


def test_a_text_of_many_pairs_is_read_once():
    tokenizer, passages = Noted(tiny_tokenizer()), ["river", "stone bridge", "river", "castle"]
    rows = paired_rows(tokenizer, ["king of music"] * 4, passages, length=20)
    assert tokenizer.read == [13, 5, 12, 6] and rows.lengths.tolist() == [7, 8, 7, 7]


def test_rows_are_padded_to_the_longest_of_those_asked_for():
    rows = TokenRows.of([[5, 6, 7], [8], [9, 10]], padding=4, kinds=[[0, 1, 1], [0], [0, 0]])
    inputs = {name: values.tolist() for name, values in rows.inputs(np.array([2, 1])).items()}
    assert inputs == {
        "input_ids": [[9, 10], [8, 4]],
        "attention_mask": [[1, 1], [1, 0]],
        "token_type_ids": [[0, 0], [0, 0]],
    }
    assert rows.inputs()["token_type_ids"].tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert rows.inputs()["input_ids"].tolist() == [[5, 6, 7], [8, 4, 4], [9, 10, 4]]


def test_the_library_holds_its_records_of_few_texts_at_a_time(monkeypatch):
    class Library:
        calls: ClassVar[list[int]] = []

        def encode_batch_fast(self, texts, **how):
            self.calls.append(len(texts))
            return [SimpleNamespace(ids=[len(text)]) for text in texts]

    monkeypatch.setattr(token_rows, "TOGETHER", 3)
    texts = ["a" * length for length in range(1, 8)]
    assert list(token_rows._ids(Library(), texts, {})) == [[length] for length in range(1, 8)]
    assert Library.calls == [3, 3, 1]
