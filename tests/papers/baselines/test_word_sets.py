from __future__ import annotations

import math

import numpy as np
import pytest

from papers.baselines.word_sets import SetSampling, _sets, set_arrays
from repro.errors import UsageError
from tests.tiny_models import tiny_tokenizer

SAMPLING = {"pairs": 5, "size_mean": 3.0, "size": "positive", "repeats": True, "ties": "again"}


def sampling(**changes) -> SetSampling:
    return SetSampling(**(SAMPLING | changes))


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("size", ["positive", "plus-one"])
def test_pairs_have_sets_of_one_size_the_higher_score_first(repeats, size):
    found = sampling(repeats=repeats, size=size)
    for seed in range(2000):
        generator = np.random.default_rng(seed)
        scores = generator.normal(size=int(generator.integers(2, 12)))
        pairs = found.drawn(generator.normal(size=len(scores)), scores, generator=generator)
        assert len(pairs) == 5
        for pair in pairs:
            if pair is None:
                continue
            preferred, other = pair
            assert len(preferred) == len(other) >= 1
            assert math.fsum(scores[preferred]) > math.fsum(scores[other])
            assert preferred.min() >= 0 and preferred.max() < len(scores)
            if not repeats and len(preferred) < len(scores):
                assert len(set(preferred.tolist())) == len(preferred)
                assert len(set(other.tolist())) == len(other)


def test_sets_that_are_equally_likely_make_no_pair():
    for scores in (np.zeros(6), np.array([0.3]), np.zeros(0)):
        drawn = sampling().drawn(np.zeros(len(scores)), scores, generator=np.random.default_rng(1))
        assert drawn == [None] * 5
    # the same three words in two orders add up to the same whatever the order
    scores = np.array([0.1, 0.2, 0.3, 1e-17])
    for seed in range(200):
        for pair in sampling(repeats=False).drawn(scores, scores, generator=np.random.default_rng(seed)):
            assert pair is None or sorted(pair[0].tolist()) != sorted(pair[1].tolist())


def test_sizes_follow_the_poisson_distribution_of_the_reading():
    generator = np.random.default_rng(3)
    positive = sampling(pairs=100_000).sizes(generator)
    assert positive.min() == 1
    assert positive.mean() == pytest.approx(3 / (1 - math.exp(-3)), abs=0.02)
    plus_one = sampling(pairs=100_000, size="plus-one").sizes(generator)
    assert plus_one.min() == 1 and plus_one.mean() == pytest.approx(4, abs=0.02)


@pytest.mark.parametrize("repeats", [True, False])
def test_words_are_drawn_with_the_weights(repeats):
    weights = np.array([0.5, 0.25, 0.15, 0.1])
    found = sampling(pairs=20_000, size_mean=1e-9, size="plus-one", repeats=repeats)
    pairs = found.drawn(np.log(weights) + 7, np.arange(4.0), generator=np.random.default_rng(4))
    counts = np.bincount(np.concatenate([one for pair in pairs if pair for one in pair]), minlength=4)
    # a pair is two different words, each drawn by its weight: P(w) ~ p_w (1 - p_w)
    expected = weights * (1 - weights)
    assert counts / counts.sum() == pytest.approx(expected / expected.sum(), abs=0.01)


def test_without_repeats_words_leave_one_after_another():
    weights, generator = np.array([0.6, 0.3, 0.1]), np.random.default_rng(5)
    drawn = np.concatenate([_sets(np.log(weights), 2, False, generator) for _ in range(20_000)]).tolist()
    for first, second in ((0, 1), (1, 0), (2, 0)):
        expected = weights[first] * weights[second] / (1 - weights[first])
        assert drawn.count([first, second]) / len(drawn) == pytest.approx(expected, abs=0.01)


def test_sets_are_written_in_the_order_drawn_and_cut():
    pieces = [[np.array([10]), np.array([11, 12]), np.array([13])], [np.array([20])]]
    pairs = [[(np.array([1, 0]), np.array([2, 2])), None], [None, (np.array([0]), np.array([0]))]]
    cls, sep, pad = (getattr(tiny_tokenizer(), f"{name}_token_id") for name in ("cls", "sep", "pad"))
    arrays = set_arrays(pairs, pieces, tokenizer=tiny_tokenizer(), most=2)
    assert arrays["set_ids"].tolist() == [
        [cls, 11, 12, sep],
        [cls, 13, 13, sep],
        [cls, sep, pad, pad],
        [cls, sep, pad, pad],
        [cls, sep, pad, pad],
        [cls, sep, pad, pad],
        [cls, 20, sep, pad],
        [cls, 20, sep, pad],
    ]
    assert arrays["set_attention_mask"].sum(dim=1).tolist() == [4, 4, 2, 2, 2, 2, 3, 3]
    assert arrays["pair_mask"].tolist() == [[True, False], [False, True]]


def test_of_two_sets_with_one_score_the_second_is_preferred_or_both_are_drawn_again():
    scores = np.zeros(4)
    assert sampling().drawn(scores, scores, generator=np.random.default_rng(1)) == [None] * 5
    pairs = sampling(ties="second").drawn(scores, scores, generator=np.random.default_rng(1))
    first = np.random.default_rng(1)
    size = sampling().sizes(first)[0]
    left, right = _sets(scores, int(size), True, first)
    assert pairs[0][0].tolist() == right.tolist() and pairs[0][1].tolist() == left.tolist()
    with pytest.raises(UsageError, match="'first' is not a known treatment of equal word sets"):
        sampling(ties="first")
