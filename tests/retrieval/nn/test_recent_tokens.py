from __future__ import annotations

import copy

import pytest

from repro.progress import Progress
from repro.retrieval.nn import recent_tokens, token_rows
from repro.retrieval.nn.recent_tokens import tokens_remembered
from repro.retrieval.nn.token_rows import token_ids
from repro.retrieval.training.loop import train
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.stage_inputs import Rows, optimisation
from tests.tiny_models import tiny_tokenizer

TEXTS = ["the cat sat", "a dog", "the cat sat", "birds sing in the old tree"]


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """The texts that are tokenised."""
    texts, reading = [], token_rows._read

    def noted(tokenizer, some, **how):
        texts.extend(some)
        return reading(tokenizer, some, **how)

    monkeypatch.setattr(token_rows, "_read", noted)
    return texts


def test_a_text_is_tokenised_once_as_long_as_tokens_are_remembered(read):
    tokenizer = tiny_tokenizer()
    ways = [{"length": 8}, {"length": 4}, {"length": 8, "add_special_tokens": False}]
    expected = [token_ids(tokenizer, TEXTS, **way) for way in ways]
    assert len(read) == 3 * len(TEXTS)
    read.clear()
    with tokens_remembered():
        assert [token_ids(tokenizer, TEXTS, **way) for way in ways] == expected
        assert [token_ids(tokenizer, TEXTS[:2], **way) for way in ways] == [ids[:2] for ids in expected]
        assert read == 3 * [TEXTS[0], TEXTS[1], TEXTS[3]]
        assert token_ids(copy.deepcopy(tokenizer), TEXTS, length=8) == expected[0]
        assert len(read) == 12


def test_the_texts_read_longest_ago_are_forgotten(read, monkeypatch):
    monkeypatch.setattr(recent_tokens, "MOST", 2)
    tokenizer = tiny_tokenizer()
    with tokens_remembered():
        for text in ("a dog", "the cat", "birds", "the cat", "a dog"):
            assert token_ids(tokenizer, [text], length=8) == [tokenizer(text)["input_ids"][:8]]
        assert read == ["a dog", "the cat", "birds", "a dog"]
        assert len(token_ids(tokenizer, TEXTS, length=8)) == len(TEXTS)


def test_as_many_texts_as_there_is_room_for_are_read_once(read, monkeypatch):
    monkeypatch.setattr(recent_tokens, "MOST", 8)
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
