from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from papers.baselines.whole_words import WholeWords
from papers.simlm.masks import Masks, twice_masked
from tests.tiny_models import tiny_text, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
WORDS = WholeWords.of(TOKENIZER)
SIMLM = Masks(encoder_rate=0.3, decoder_rate=0.5, unit="whole-word", superset="union", mask=1.0, random=0.0)


def masks(**changes) -> Masks:
    return dataclasses.replace(SIMLM, **changes)


def texts(count: int, *, seed: int = 4, words: int = 30) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    written = [tiny_text(generator, int(generator.integers(1, words))) for _ in range(count)]
    return [np.array(ids) for ids in TOKENIZER(written, add_special_tokens=False)["input_ids"]]


def batch(rows, given: Masks, *, seed: int = 1):
    generators = [np.random.default_rng((seed, place)) for place in range(len(rows))]
    return twice_masked(rows, tokenizer=TOKENIZER, words=WORDS, masks=given, generators=generators)


@pytest.mark.parametrize("unit", ["whole-word", "bernoulli"])
@pytest.mark.parametrize("superset", ["union", "exact"])
@pytest.mark.parametrize("rates", [(0.15, 0.15), (0.15, 0.3), (0.3, 0.5), (0.4, 0.6), (0.3, 1.0)])
def test_the_decoders_mask_contains_the_encoders_and_no_special_token(unit, superset, rates):
    given = masks(unit=unit, superset=superset, encoder_rate=rates[0], decoder_rate=rates[1])
    made = batch(texts(400), given)
    encoder, decoder = made["encoder_chosen"], made["decoder_chosen"]
    assert not (encoder & ~decoder).any()
    assert not (decoder & made["special"]).any()
    assert (decoder == ~made["special"]).all() or rates[1] < 1
    for side in ("encoder", "decoder"):
        kept, ids = ~made[f"{side}_chosen"], made[f"{side}_ids"]
        assert (ids[kept] == made["clean_ids"][kept]).all()
        assert (ids[~kept] == TOKENIZER.mask_token_id).all()


def test_quotas_of_whole_words_are_of_each_text_and_never_exceeded():
    made = batch(texts(1500), SIMLM)
    lengths = made["attention_mask"].sum(dim=1).tolist()
    further = (0.5 - 0.3) / (1 - 0.3)
    pairs = zip(
        lengths,
        made["encoder_chosen"].sum(dim=1).tolist(),
        made["decoder_chosen"].sum(dim=1).tolist(),
        strict=True,
    )
    at_quota = 0
    for length, encoder, decoder in pairs:
        quota = max(1, round(0.3 * length))
        assert encoder <= quota
        assert decoder <= encoder + max(1, round(further * length))
        at_quota += encoder == quota
    assert at_quota > 1400


@pytest.mark.parametrize(
    ("unit", "superset", "tolerance"),
    [("bernoulli", "union", 0.005), ("whole-word", "union", 0.03), ("whole-word", "exact", 0.03)],
)
def test_rates_are_met_over_many_long_texts(unit, superset, tolerance):
    generator = np.random.default_rng(8)
    rows = [generator.integers(10, 70, 60) for _ in range(2000)]
    made = batch(rows, masks(unit=unit, superset=superset))
    for side, rate in (("encoder", 0.3), ("decoder", 0.5)):
        share = made[f"{side}_chosen"].sum() / (60 * 2000)
        assert share == pytest.approx(rate, abs=tolerance)  # a quota is of 62 tokens: 0.31 and 0.516
    if superset == "exact":
        assert set(made["decoder_chosen"].sum(dim=1).tolist()) == {31}


def test_equal_rates_mask_both_sides_alike_down_to_the_random_tokens():
    made = batch(texts(50), masks(encoder_rate=0.3, decoder_rate=0.3, mask=0.5, random=0.4))
    assert (made["encoder_chosen"] == made["decoder_chosen"]).all()
    assert (made["encoder_ids"] == made["decoder_ids"]).all()


def test_what_follows_a_title_is_of_the_second_segment():
    ids = TOKENIZER("river bridge[SEP]the stone castle", add_special_tokens=False)["input_ids"]
    plain = TOKENIZER("the castle", add_special_tokens=False)["input_ids"]
    made = batch([np.array(ids), np.array(plain)], SIMLM)
    assert made["segments"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8]
    assert made["special"].tolist()[0] == [True, False, False, True, False, False, False, True]
    assert made["special"].tolist()[1] == [True, False, False, True, True, True, True, True]
