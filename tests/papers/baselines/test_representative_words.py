from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.baselines.function_words import FUNCTION_WORDS
from papers.baselines.representative_words import RepresentativeWords
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.papers.baselines.tiny_texts import ids, rows, texts, written
from tests.tiny_models import MARKS, tiny_masked_lm, tiny_tokenizer

OPTIONS = {
    "pairs": 5,
    "set_size_mean": 3.0,
    "set_size": "positive",
    "set_most_tokens": 16,
    "repeats": True,
    "ties": "again",
    "resample": "epoch",
    "smoothing": "average",
    "collection": "document-frequency",
    "word_counts": "rarest-piece",
    "candidate_words": 30,
    "subsampling": 0.01,
    "similarity": "dot",
    "scores": "pair-softmax",
    "margin": 1.0,
    "weight": 1.0,
    "contrastive_input": "masked",
    "mlm_reduction": "mean",
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1, "unit": "whole-word", "most": 60},
    "stop_words": list(FUNCTION_WORDS),
    "set_words": "letters",
    "skip_share": 0.0,
    "skip_below": 0,
    "fewest_words": 0,
    "length": 48,
    "seed": 7,
}


def objective(statistics, *, dropout=0.0, **changes):
    torch.manual_seed(1)
    options = OPTIONS | {"statistics": statistics} | changes
    return build(RepresentativeWords, tiny_masked_lm(dropout=dropout), tiny_tokenizer(), options)


@pytest.mark.parametrize("subsampling", [0.05, 0.001])
def test_the_language_model_is_dirichlet_smoothed_as_loops_say(statistics, subsampling):
    prop = objective(statistics, smoothing=7.0, subsampling=subsampling)
    occurrences = np.load(statistics / "collection_frequency.npy")
    in_texts = np.load(statistics / "document_frequency.npy")
    alone = [entry for entry in range(len(tiny_tokenizer())) if prop.words.alone[entry]]
    text = ids("kings of the castle , kings and king , the queen .")
    words, log_likely, log_weights = prop.candidates(text, generator=np.random.default_rng(0))
    assert [written(word) for word in words[:4]] == ["kings", "castle", "king", "queen"]
    counts = {"kings": 2, "castle": 1, "king": 1, "queen": 1}
    for word, likely, weight in zip(words, log_likely, log_weights, strict=True):
        share = min(in_texts[piece] for piece in word) / sum(in_texts[entry] for entry in alone)
        expected = (counts.get(written(word), 0) + 7.0 * share) / (5 + 7.0)
        close(math.exp(likely), expected)
        often = min(occurrences[piece] for piece in word) / sum(occurrences[entry] for entry in alone)
        rare = subsampling / often
        kept = min(1.0, math.sqrt(rare) + rare)
        assert (kept < 1) == (subsampling == 0.001)
        close(math.exp(weight), expected * kept)


def test_candidates_are_distinct_words_of_the_text_and_then_of_the_collection(statistics):
    prop = objective(statistics)
    for seed, text in enumerate(texts(1000, seed=8)):
        words, likely, _ = prop.candidates(text, generator=np.random.default_rng(seed))
        names = [written(word) for word in words]
        own = {written(text[a:b]) for a, b in prop.words.spans(text).tolist()}
        assert len(set(names)) == len(names) <= max(30, len(own)) and set(names[: len(own)]) == own
        assert not set(names) & (set(FUNCTION_WORDS) | set(MARKS))
        assert np.isfinite(likely).all()
        if not 0 < len(own) < 30:
            assert len(names) == len(own)
        elif len(own) < 15:
            assert len(names) > len(own)
    for changes in ({"candidate_words": 0}, {"smoothing": 0.0}):
        words, likely, weights = objective(statistics, subsampling=None, **changes).candidates(
            ids("king queen king the river"), generator=np.random.default_rng(0)
        )
        assert [written(word) for word in words] == ["king", "queen", "river"] and (likely == weights).all()


def test_mu_is_the_mean_number_of_words_or_the_number_given(statistics):
    prop = objective(statistics, stop_words=[])  # one that begins a longer word is not counted
    expected = np.mean([len(prop.words.spans(text)) for text in texts(300)])
    close(prop.mu, expected)
    assert objective(statistics, smoothing=3).mu == 3.0


def test_the_preferred_set_is_the_likelier_one(statistics):
    prop = objective(statistics, set_most_tokens=100)
    examples = rows(count=30)
    batch = prop.collate(examples)
    sets = batch["set_ids"].view(30, 5, 2, -1)
    for n, example in enumerate(examples):
        generator = np.random.default_rng((7, 0, 0, n))
        words, likely, _ = prop.candidates(example["input_ids"][:46], generator=generator)
        of = {written(word): value for word, value in zip(words, likely, strict=True)}
        for pair in sets[n][batch["pair_mask"][n]]:
            preferred, other = ([of[word] for word in written(row[row > 4].tolist()).split()] for row in pair)
            assert len(preferred) == len(other) and sum(preferred) > sum(other)


def test_sets_depend_on_seed_index_and_epoch_only(statistics):
    for resample, same in (("once", True), ("epoch", False)):
        prop = objective(statistics, resample=resample)
        first, later = prop.collate(rows()), prop.collate(rows(epoch=3))
        assert torch.equal(first["set_ids"], later["set_ids"]) is same
        assert (first["labels"] != later["labels"]).any()
        part = prop.collate(rows()[3:4])
        size = part["set_ids"].shape[1]
        assert torch.equal(first["set_ids"].view(5, 10, -1)[3, :, :size], part["set_ids"])
    assert objective(statistics, set_most_tokens=2).collate(rows())["set_ids"].shape[1] <= 4


def test_texts_without_words_have_no_pairs(statistics):
    prop = objective(statistics, masking=OPTIONS["masking"] | {"rate": 0.0, "unit": "bernoulli"})
    empty = {"input_ids": ids("the of , and ."), "index": 0, "epoch": 0}
    batch = prop.collate([empty, empty])
    assert not batch["pair_mask"].any() and prop(batch) == {}
    mixed = prop.collate([empty, rows(count=2)[1]])
    assert mixed["pair_mask"].any(dim=1).tolist() == [False, True] and prop(mixed)["preference"] > 0


@pytest.mark.parametrize(("fewest_words", "is_read"), [(4, True), (5, False)])
def test_a_text_of_too_few_distinct_words_has_no_pairs(statistics, fewest_words, is_read):
    text = {"input_ids": ids("kings of the castle , kings and king , the queen ."), "index": 0, "epoch": 0}
    batch = objective(statistics, fewest_words=fewest_words).collate([text])
    assert bool(batch["pair_mask"].any()) is is_read
