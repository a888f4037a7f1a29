import copy
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from repro.progress import Progress
from repro.retrieval.nn import tokens
from repro.retrieval.nn.tokens import TokenRows, paired_rows, token_ids, tokens_remembered
from repro.retrieval.training.loop import train
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.stage_inputs import Rows, optimisation
from tests.tiny_models import MARKS, PIECES, SPECIAL, WORDS, tiny_tokenizer

READ_AGAIN = ["the cat sat", "a dog", "the cat sat", "birds sing in the old tree"]


@pytest.fixture
def read(monkeypatch) -> list[str]:
    texts, reading = [], tokens._read

    def noted(tokenizer, length, some):
        texts.extend(some)
        return reading(tokenizer, length, some)

    monkeypatch.setattr(tokens, "_read", noted)
    return texts


def test_a_text_is_tokenised_once_as_long_as_tokens_are_remembered(read):
    tokenizer = tiny_tokenizer()
    ways = [{"length": 8}, {"length": 4}]
    expected = [token_ids(tokenizer, READ_AGAIN, **way) for way in ways]
    assert len(read) == 2 * len(READ_AGAIN)
    read.clear()
    with tokens_remembered():
        assert [token_ids(tokenizer, READ_AGAIN, **way) for way in ways] == expected
        assert [token_ids(tokenizer, READ_AGAIN[:2], **way) for way in ways] == [ids[:2] for ids in expected]
        assert read == 2 * [READ_AGAIN[0], READ_AGAIN[1], READ_AGAIN[3]]
        assert token_ids(copy.deepcopy(tokenizer), READ_AGAIN, length=8) == expected[0]
        assert len(read) == 9


def test_the_texts_read_longest_ago_are_forgotten(read, monkeypatch):
    monkeypatch.setattr(tokens, "MOST", 2)
    tokenizer = tiny_tokenizer()
    with tokens_remembered():
        for text in ("a dog", "the cat", "birds", "the cat", "a dog"):
            assert token_ids(tokenizer, [text], length=8) == [tokenizer(text)["input_ids"][:8]]
        assert read == ["a dog", "the cat", "birds", "a dog"]
        assert len(token_ids(tokenizer, READ_AGAIN, length=8)) == len(READ_AGAIN)


def test_as_many_texts_as_there_is_room_for_are_read_once(read, monkeypatch):
    monkeypatch.setattr(tokens, "MOST", 8)
    tokenizer, texts = tiny_tokenizer(), [f"{word} bridge" for word in ["the", "of", "and", "a", "in", "to"]]
    with tokens_remembered():
        for text in 2 * texts:
            token_ids(tokenizer, [text], length=8)
    assert read == texts


def test_a_training_tokenises_each_text_in_its_first_epoch_only(read, tmp_path):
    texts = Rows(Texts("in-batch", 4).__getitems__([(0, index) for index in range(4)]))
    how = {"out": tmp_path, "progress": Progress()}
    train(objective("in-batch"), texts, optimisation(batch_size=4, max_steps=1), **how)
    once = len(read)
    assert once > 4
    read.clear()
    (tmp_path / "longer").mkdir()
    how["out"] = tmp_path / "longer"
    train(objective("in-batch"), texts, optimisation(batch_size=4, max_steps=5), **how)
    assert len(read) == once


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
        patch.setattr(tokens, "CHARACTERS", characters)
        assert token_ids(tiny_tokenizer(), texts, length=length) == theirs(texts, length)[0]


@settings(max_examples=80)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3), st.integers(4, 14))
def test_pairs_are_what_the_tokenizer_makes_of_them(pairs, length):
    rows = paired_rows(tiny_tokenizer(), *zip(*pairs, strict=True), length=length)
    ends = np.cumsum(rows.lengths)
    for pair, end, size in zip(pairs, ends, rows.lengths, strict=True):
        wanted = theirs([pair[0] or pair[1]], length, *([[pair[1]]] if pair[0] else []))
        assert rows.ids[end - size : end].tolist() == wanted[0][0]
        assert rows.kinds[end - size : end].tolist() == wanted[1][0]


class Library:
    def __init__(self, library):
        self.library, self.read = library, []

    def __getattr__(self, name):
        return getattr(self.library, name)

    def encode_batch_fast(self, texts, **how):
        self.read += map(len, texts)
        return self.library.encode_batch_fast(texts, **how)


class Noted:
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

    monkeypatch.setattr(tokens, "TOGETHER", 3)
    texts = ["a" * length for length in range(1, 8)]
    assert list(tokens._ids(Library(), texts)) == [[length] for length in range(1, 8)]
    assert Library.calls == [3, 3, 1]
