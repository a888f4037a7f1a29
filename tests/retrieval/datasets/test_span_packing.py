from __future__ import annotations

import itertools

import numpy as np
import pytest

from repro.retrieval.datasets.sentence_splitting import packed

TARGET = 40


def documents(count=3000):
    draw = np.random.default_rng(3)
    for seed in range(count):
        yield seed, draw.integers(1, draw.choice([6, 30, 90]), draw.integers(0, 40)).tolist()


def spans_of(lengths, seed=0, **changes):
    how = {"target": TARGET, "overshoot": True, "short_probability": 0.0} | changes
    counts = packed(lengths, generator=np.random.default_rng(seed), **how)
    left = iter(lengths)
    return counts, [list(itertools.islice(left, count)) for count in counts]


@pytest.mark.parametrize("overshoot", [True, False])
@pytest.mark.parametrize("short_probability", [0.0, 0.15, 1.0])
def test_every_sentence_is_in_one_span_in_order(overshoot, short_probability):
    for seed, lengths in documents():
        how = {"overshoot": overshoot, "short_probability": short_probability}
        counts, spans = spans_of(lengths, seed, **how)
        assert sum(counts) == len(lengths) and all(count > 0 for count in counts)
        assert list(itertools.chain(*spans)) == lengths


def test_an_overshooting_span_is_closed_by_the_sentence_that_exceeds_the_target():
    for seed, lengths in documents():
        _, spans = spans_of(lengths, seed)
        for span in spans[:-1]:
            assert sum(span) > TARGET >= sum(span[:-1])
        if spans:
            assert sum(spans[-1][:-1]) <= TARGET


def test_a_strict_span_exceeds_its_target_only_as_a_single_sentence():
    for seed, lengths in documents():
        _, spans = spans_of(lengths, seed, overshoot=False)
        for span, following in itertools.zip_longest(spans, spans[1:], fillvalue=[]):
            assert sum(span) <= TARGET or len(span) == 1
            assert not following or sum(span) + following[0] > TARGET


def test_spans_are_those_of_a_written_out_example():
    lengths = [30, 11, 40, 1, 50, 3]
    assert spans_of(lengths)[1] == [[30, 11], [40, 1], [50], [3]]
    assert spans_of(lengths, overshoot=False)[1] == [[30], [11], [40], [1], [50], [3]]
    assert spans_of([20, 20, 1], overshoot=False)[1] == [[20, 20], [1]]
    assert spans_of([20, 20, 1])[1] == [[20, 20, 1]]  # the target itself does not exceed it
    assert spans_of([]) == ([], [])


@pytest.mark.parametrize("overshoot", [True, False])
def test_short_targets_are_uniform_and_as_frequent_as_asked_for(overshoot):
    counts, _ = spans_of([1] * 400_000, overshoot=overshoot, short_probability=0.15)
    targets = np.array(counts[:-1]) - overshoot  # with sentences of one token a span tells its target
    assert set(targets) == set(range(2, TARGET + 1))
    full = 0.85 + 0.15 / (TARGET - 1)
    assert np.mean(targets == TARGET) == pytest.approx(full, abs=0.01)
    assert np.mean(targets[targets < TARGET]) == pytest.approx((2 + TARGET - 1) / 2, abs=1.0)


def test_equal_generators_give_equal_spans():
    lengths = [1] * 500
    assert spans_of(lengths, 5, short_probability=0.5) == spans_of(lengths, 5, short_probability=0.5)
    assert spans_of(lengths, 5, short_probability=0.5) != spans_of(lengths, 6, short_probability=0.5)
