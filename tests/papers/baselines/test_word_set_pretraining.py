from __future__ import annotations

import numpy as np
import pytest

from papers.baselines.whole_words import WholeWords
from papers.baselines.word_set_pretraining import ShortTexts, TextMasks
from repro.errors import UsageError
from repro.retrieval.nn.masked_tokens import IGNORED
from tests.papers.baselines import test_contrastive_term_words as b_prop
from tests.papers.baselines import test_representative_words as prop
from tests.papers.baselines.tiny_texts import ids, rows, texts
from tests.tiny_models import tiny_tokenizer

MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1, "unit": "whole-word", "most": 60}


def test_four_fifths_of_the_short_texts_are_passed_over_and_those_of_few_words_always():
    short, generator = ShortTexts(0.8, 100, 10), np.random.default_rng(3)
    skipped = [short.skipped(99, 10, generator=generator) for _ in range(5000)]
    assert np.mean(skipped) == pytest.approx(0.8, abs=0.02)
    assert not any(short.skipped(100, 10, generator=generator) for _ in range(200))
    assert all(short.skipped(500, 9, generator=generator) for _ in range(200))
    with pytest.raises(UsageError, match=r"share of skipped short texts is 1\.5"):
        ShortTexts(1.5, 100, 0)


def test_whole_words_are_masked_to_a_share_of_their_number_and_no_more_than_the_cap():
    words, some = WholeWords.of(tiny_tokenizer()), texts(60, seed=4)
    for most in (60, 2):
        generators = [np.random.default_rng(n) for n in range(len(some))]
        batch = TextMasks(**MASKING | {"most": most}).masked(some, tiny_tokenizer(), generators)
        for n, row in enumerate(some):
            framed = np.array([2, *row, 3])
            numbers = words.numbers(framed)
            chosen = (batch["labels"][n, : len(framed)] != IGNORED).numpy()
            assert chosen.sum() <= min(most, max(1, round(0.15 * (numbers.max() + 1))))
            assert all(len(set(chosen[numbers == word])) == 1 for word in range(numbers.max() + 1))
            assert (batch["clean_ids"][n, : len(framed)].numpy() == framed).all()


@pytest.mark.parametrize("module", [prop, b_prop])
def test_a_text_passed_over_has_neither_masks_nor_pairs(statistics, module):
    objective = module.objective(statistics, skip_share=1.0, skip_below=20)
    examples = [{"input_ids": ids("the king of the river"), "index": 0, "epoch": 0}, rows(words=30)[1]]
    batch = objective.collate(examples)
    pairs = batch["pair_mask"] if module is prop else objective.word_sets(batch)["pair_mask"]
    assert pairs.any(dim=1).tolist() == [False, True]
    assert (batch["labels"] != IGNORED).any(dim=1).tolist() == [False, True]


def test_stop_words_and_marks_share_in_the_scores_and_halve_them_where_they_have_half(statistics):
    text = [{"input_ids": ids("the king of the river , and a queen ."), "index": 0, "epoch": 0}]
    found = {}
    for over in ("drawable", "all"):
        objective = b_prop.objective(statistics, normalise_over=over, stop_words=[])
        batch = objective.collate(text)
        drawn = objective.word_sets(batch)
        found[over] = batch["word_counted"].sum().item(), drawn["pair_mask"].sum().item()
    assert found["all"][0] == found["drawable"][0] + 4
    assert found["all"][1] > 0


def test_b_prop_draws_stop_words_unless_they_are_left_out(statistics):
    text = [{"input_ids": ids("the king of the river"), "index": 0, "epoch": 0}]
    for stopped, words in (([], 4), (["the", "of"], 2)):
        batch = b_prop.objective(statistics, stop_words=stopped).collate(text)
        assert int((batch["word_spans"][1] > 0).sum()) == words
