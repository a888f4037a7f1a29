from __future__ import annotations

import numpy as np
import pytest

from papers.baselines.function_words import FUNCTION_WORDS
from papers.costa.spans import STOP_WORDS, sampled_spans, span_lengths, span_starts
from repro.retrieval.nn.text import Words
from tests.tiny_models import MARKS, PIECES, tiny_text, tiny_tokenizer

COUNTS = {"word": 5, "phrase": 4, "sentence": 3, "paragraph": 2}
BOUNDS = {"phrase": (4, 16), "sentence": (16, 64), "paragraph": (64, 128)}
KINDS = [name for name, count in COUNTS.items() for _ in range(count)]


@pytest.fixture(scope="module")
def words():
    return Words.of(tiny_tokenizer(), FUNCTION_WORDS)


@pytest.fixture(scope="module")
def texts():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 160, 1000)
    encoded = [tiny_tokenizer()(tiny_text(generator, int(n)), add_special_tokens=False) for n in lengths]
    return [np.array(one["input_ids"]) for one in encoded]


def sample(ids, words, *, seed=0, **changes):
    options = {"counts": COUNTS, "bounds": BOUNDS, "beta": (4, 2), "rounding": "floor", "start": "inclusive"}
    options = {**options, "short_text": "clip", **changes}
    (spans,), (exist,) = sampled_spans(
        [ids], words=words, generators=[np.random.default_rng(seed)], **options
    )
    return spans, exist


def text(ids) -> str:
    return "".join(tiny_tokenizer().convert_ids_to_tokens(ids)).replace("##", "")


@pytest.mark.parametrize("start", ["inclusive", "printed"])
def test_spans_lie_in_the_text_within_the_bounds_of_their_granularity(words, texts, start):
    room_lost = 0 if start == "inclusive" else 1
    for seed, ids in enumerate(texts):
        spans, exist = sample(ids, words, seed=seed, start=start)
        assert spans.shape == (14, 2) and exist.shape == (14,)
        for kind, (first, end), there in zip(KINDS, spans.tolist(), exist, strict=True):
            if not there:
                assert (first, end) == (0, 0)
                continue
            assert 0 <= first < end <= len(ids)
            if kind != "word":
                room = len(ids) - room_lost
                shortest, longest = (min(bound, room) for bound in BOUNDS[kind])
                assert shortest <= end - first <= longest
                assert start == "inclusive" or end < len(ids)


def test_word_spans_are_whole_words_and_no_stop_words(words, texts):
    seen = set()
    for seed, ids in enumerate(texts):
        tokens = tiny_tokenizer().convert_ids_to_tokens(ids)
        spans, exist = sample(ids, words, seed=seed)
        for first, end in spans[:5][exist[:5]].tolist():
            assert not tokens[first].startswith("##")
            assert all(token.startswith("##") for token in tokens[first + 1 : end])
            assert end == len(ids) or not tokens[end].startswith("##")
            word = text(ids[first:end])
            assert word not in FUNCTION_WORDS and word not in MARKS
            seen.add(word)
    assert {"river", "rivers", "castleing"} <= seen


def test_spans_of_words_begin_and_end_with_words_and_have_as_many_as_their_granularity_has(words, texts):
    several = 0
    for seed, ids in enumerate(texts[:200]):
        goes_on = [token.startswith("##") for token in tiny_tokenizer().convert_ids_to_tokens(ids)]
        spans, exist = sample(ids, words, seed=seed, unit="words")
        room = goes_on.count(False) + goes_on[0]
        for kind, (first, end), there in zip(KINDS, spans.tolist(), exist, strict=True):
            if kind != "word":
                shortest, longest = (min(bound, room) for bound in BOUNDS[kind])
                inside = goes_on[first:end].count(False) + goes_on[first]
                assert there and shortest <= inside <= longest
                assert (first == 0 or not goes_on[first]) and (end == len(ids) or not goes_on[end])
                several += inside < end - first
    assert several > 100


def test_stop_words_left_out_of_what_is_drawn_leave_fewer_words_and_the_same_other_spans(words):
    ids = np.array(tiny_tokenizer().convert_tokens_to_ids(["the", "river", "of", "king", "##s", "and"] * 8))
    fewer, some = 0, 0
    for seed in range(50):
        (before, _), (after, exist) = (sample(ids, words, seed=seed, stop_words=o) for o in STOP_WORDS)
        assert {text(ids[a:b]) for a, b in after[:5][exist[:5]]} <= {"river", "kings"}
        assert exist[5:].all() and before.shape == after.shape
        fewer, some = fewer + (~exist[:5]).sum(), some + exist[:5].sum()
    assert fewer / (fewer + some) == pytest.approx(3 / 5, abs=0.15)


def test_a_text_of_stop_words_has_no_word_spans_but_the_others(words):
    ids = np.array(tiny_tokenizer().convert_tokens_to_ids(["the", "of", ",", "and"] * 5))
    spans, exist = sample(ids, words)
    assert not exist[:5].any() and exist[5:].all() and (spans[:5] == 0).all()


def test_short_texts_are_dropped_whole_under_that_reading(words, texts):
    for seed, ids in enumerate(texts):
        _, exist = sample(ids, words, seed=seed, short_text="drop")
        enough = len(ids) >= 128 and len(words.spans(ids)) > 0
        assert exist.all() if enough else not exist.any()
        _, exist = sample(ids, words, seed=seed, short_text="drop", start="printed")
        assert exist.any() == (len(ids) >= 129 and len(words.spans(ids)) > 0)


def test_one_token_has_room_for_a_span_only_when_the_last_start_counts(words):
    ids = np.array([tiny_tokenizer().convert_tokens_to_ids("orbit")])
    spans, exist = sample(ids, words)
    assert exist.all() and (spans == [0, 1]).all()
    _, exist = sample(ids, words, start="printed")
    assert exist.tolist() == [True] * 5 + [False] * 9


def test_a_granularity_that_is_missing_or_zero_is_not_sampled(words, texts):
    ids = max(texts, key=len)
    for counts in (
        {"word": 0, "phrase": 4, "sentence": 4, "paragraph": 4},
        {"phrase": 4, "sentence": 4, "paragraph": 4},
    ):
        spans, exist = sample(ids, words, counts=counts)
        assert spans.shape == (12, 2) and exist.all()
    spans, _ = sample(ids, words, counts={"word": 3})
    assert spans.shape == (3, 2)


def lengths_of(count, bounds, *, rounding, seed):
    shortest, longest = (np.array([[bound]]) for bound in bounds)
    how = {"beta": (4, 2), "rounding": rounding, "generators": [np.random.default_rng(seed)]}
    (lengths,) = span_lengths(count, shortest, longest, **how)
    return lengths


def test_lengths_follow_the_beta_distribution_between_the_bounds():
    lengths = lengths_of(100_000, (16, 64), rounding="floor", seed=1)
    assert lengths.min() >= 16 and lengths.max() < 64
    # Beta(4, 2) has mean 2/3 and variance 8/(36*7); cutting takes half a token off on average
    assert lengths.mean() == pytest.approx(16 + 48 * 2 / 3 - 0.5, abs=0.1)
    assert lengths.std() == pytest.approx(48 * (8 / 252) ** 0.5, abs=0.1)


@pytest.mark.parametrize(("rounding", "whole"), [("floor", int), ("round", round)])
def test_a_length_is_equation_1_in_whole_tokens(rounding, whole):
    p = np.random.default_rng(8).beta(4, 2, size=1000)
    lengths = lengths_of(1000, (4, 16), rounding=rounding, seed=8)
    assert lengths.tolist() == [whole(one * (16 - 4) + 4) for one in p]


@pytest.mark.parametrize(("start", "last"), [("inclusive", 7), ("printed", 6)])
def test_starts_are_uniform_over_the_places_of_the_reading(start, last):
    lengths, generators = np.full((1, 80_000), 3), [np.random.default_rng(2)]
    starts = span_starts(lengths, np.array([[10]]), start=start, generators=generators)
    values, counts = np.unique(starts, return_counts=True)
    assert values.tolist() == list(range(last + 1))
    assert counts / 80_000 == pytest.approx(np.full(last + 1, 1 / (last + 1)), abs=0.006)


def test_function_words_are_a_list_without_repetition_in_lower_case():
    assert len(FUNCTION_WORDS) == len(set(FUNCTION_WORDS)) > 150
    assert all(word == word.lower() and word.isalpha() for word in FUNCTION_WORDS)
    assert PIECES  # the tiny vocabulary has words in pieces, or the tests above show nothing


@pytest.mark.parametrize("start", ["inclusive", "printed"])
@pytest.mark.parametrize("short_text", ["clip", "drop"])
def test_texts_of_a_batch_have_the_spans_that_each_has_alone(words, texts, start, short_text):
    some = [*texts[:60], np.array(tiny_tokenizer().convert_tokens_to_ids(["the", "of", "orbit"]))[:2]]
    how = {"beta": (4, 2), "rounding": "floor", "start": start, "short_text": short_text}
    how |= {"words": words, "counts": COUNTS, "bounds": BOUNDS}
    generators = [np.random.default_rng(seed) for seed in range(len(some))]
    together = sampled_spans(some, generators=generators, **how)
    alone = [sample(ids, words, seed=n, start=start, short_text=short_text) for n, ids in enumerate(some)]
    for made, of_each in zip(together, zip(*alone, strict=True), strict=True):
        assert made.tolist() == np.stack(of_each).tolist()
