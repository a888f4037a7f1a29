from __future__ import annotations

from repro.retrieval.nn.text import passage_inputs, segment_pairs, tokenised
from tests.tiny_models import tiny_tokenizer

TITLES = ["king", "", "river bridge"]
TEXTS = ["the king was in battle", "music", "stone " * 30]


def written(batch):
    tokens = [tiny_tokenizer().convert_ids_to_tokens(row) for row in batch["input_ids"]]
    return [" ".join(token for token in row if token != "[PAD]") for row in tokens]


def test_a_pair_is_two_segments_and_a_text_without_its_first_is_one():
    batch = segment_pairs(tiny_tokenizer(), TITLES, TEXTS, length=12)
    assert written(batch)[:2] == ["[CLS] king [SEP] the king was in battle [SEP]", "[CLS] music [SEP]"]
    assert batch["token_type_ids"][0].tolist() == [0] * 3 + [1] * 6 + [0] * 3
    assert batch["token_type_ids"][1].tolist() == [0] * 12
    assert batch["attention_mask"].sum(dim=1).tolist() == [9, 3, 12]
    assert {tuple(value.shape) for value in batch.values()} == {(3, 12)}


def test_the_longer_of_the_two_is_cut():
    cut = segment_pairs(tiny_tokenizer(), ["river " * 20, "river " * 20], ["stone", "stone " * 20], length=10)
    assert written(cut) == [
        "[CLS] " + "river " * 6 + "[SEP] stone [SEP]",
        "[CLS] " + "river " * 3 + "[SEP] " + "stone " * 4 + "[SEP]",
    ]


def test_any_other_separator_joins_title_and_text_into_one_segment():
    batch = passage_inputs(tiny_tokenizer(), TITLES, TEXTS, length=12, separator="[SEP]")
    assert written(batch)[0] == "[CLS] king [SEP] the king was in battle [SEP]"
    assert set(batch) == set(tokenised(tiny_tokenizer(), TEXTS, length=12))
    paired = passage_inputs(tiny_tokenizer(), TITLES, TEXTS, length=12, separator="pair")
    assert (paired["input_ids"] == batch["input_ids"]).all() and "token_type_ids" in paired
