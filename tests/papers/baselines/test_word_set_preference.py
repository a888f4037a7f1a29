from __future__ import annotations

import math

import pytest
import torch

from papers.baselines.word_set_preference import PreferenceLoss, preference_hinge
from papers.baselines.word_sets import set_arrays
from tests.floats import close
from tests.papers.baselines.tiny_texts import ids
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

LOSS = {
    "similarity": "dot",
    "scores": "similarity",
    "margin": 1.0,
    "weight": 0.3,
    "contrastive_input": "masked",
    "mlm_reduction": "mean",
}


def values(n=4, p=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, p, 2, dtype=torch.float64, generator=generator), torch.ones(n, p, dtype=torch.bool)


def loops(values, mask, scores, margin):
    total, count = 0.0, 0
    for text, there in zip(values.tolist(), mask.tolist(), strict=True):
        for (preferred, other), one in zip(text, there, strict=True):
            if not one:
                continue
            if scores == "pair-softmax":
                normaliser = math.exp(preferred) + math.exp(other)
                preferred, other = math.exp(preferred) / normaliser, math.exp(other) / normaliser
            total += max(0.0, margin - preferred + other)
            count += 1
    return total / count


@pytest.mark.parametrize("scores", ["similarity", "pair-softmax"])
@pytest.mark.parametrize("margin", [1.0, 0.2])
@pytest.mark.parametrize("absent", [[], [(0, 1), (2, 2)], [(1, 0), (1, 1), (1, 2)]])
def test_the_loss_is_the_equation_written_as_loops(scores, margin, absent):
    scored, mask = values()
    for place in absent:
        mask[place] = False
    loss = preference_hinge(scored, mask, scores=scores, margin=margin)
    close(loss, loops(scored, mask, scores, margin))


def test_pairs_apart_by_the_margin_and_absent_pairs_get_no_gradient():
    scored, mask = values()
    scored[0, 0] = torch.tensor([3.0, 1.5])
    mask[2] = False
    scored.requires_grad_()
    preference_hinge(scored, mask, scores="similarity", margin=1.0).backward()
    assert (scored.grad[0, 0] == 0).all() and (scored.grad[2] == 0).all()
    close = (scored[..., 0] - scored[..., 1] < 1.0).detach() & mask
    assert (scored.grad[close] != 0).all()


def encoded_batch():
    words = [[ids(one) for one in ("king", "queens", "river")] for _ in range(2)]
    pair = (torch.tensor([0, 1]).numpy(), torch.tensor([2, 2]).numpy())
    pairs = [[pair, pair[::-1]], [pair, None]]
    batch = set_arrays(pairs, words, tokenizer=tiny_tokenizer(), most=10)
    clean = torch.tensor([[2, 20, 21, 22, 3], [2, 30, 31, 3, 0]])
    masked, labels = clean.clone(), torch.full_like(clean, -100)
    masked[0, 2], labels[0, 2] = 4, 21
    return batch | {
        "clean_ids": clean,
        "masked_ids": masked,
        "labels": labels,
        "attention_mask": (clean > 0).long(),
    }


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("contrastive_input", ["masked", "clean"])
def test_texts_and_sets_are_encoded_apart_and_every_text_meets_its_own_sets(similarity, contrastive_input):
    encoder, batch = tiny_masked_lm(dropout=0.0).double(), encoded_batch()
    how = LOSS | {"similarity": similarity, "contrastive_input": contrastive_input}
    losses = PreferenceLoss(**how).losses(encoder, batch)

    def vector(row, mask):
        return encoder.bert(row[mask.bool()][None]).last_hidden_state[0, 0].tolist()

    def sim(a, b):
        product = sum(x * y for x, y in zip(a, b, strict=True))
        return product if similarity == "dot" else product / math.hypot(*a) / math.hypot(*b)

    rows = batch[f"{contrastive_input}_ids"]
    expected, count = 0.0, 0
    for n in range(2):
        text = vector(rows[n], batch["attention_mask"][n])
        for p in range(2):
            if batch["pair_mask"][n, p]:
                places = (4 * n + 2 * p, 4 * n + 2 * p + 1)
                preferred, other = (
                    sim(text, vector(batch["set_ids"][i], batch["set_attention_mask"][i])) for i in places
                )
                expected, count = expected + max(0.0, 1.0 - preferred + other), count + 1
    close(losses["preference"], 0.3 * expected / count)
    mlm = encoder(batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]).loss
    close(losses["mlm"], mlm)


def test_losses_that_nothing_is_for_are_absent():
    encoder, batch = tiny_masked_lm(dropout=0.0), encoded_batch()
    loss = PreferenceLoss(**LOSS)
    none = torch.zeros_like(batch["pair_mask"])
    assert set(loss.losses(encoder, batch | {"pair_mask": none})) == {"mlm"}
    unlabelled = torch.full_like(batch["labels"], -100)
    assert set(loss.losses(encoder, batch | {"labels": unlabelled})) == {"preference"}
