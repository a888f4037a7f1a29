import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn import masked_tokens as masked_module
from repro.retrieval.nn import precision
from repro.retrieval.nn.masked_tokens import (
    IGNORED,
    masked_texts,
    masked_tokens,
    token_cross_entropy,
    vocabulary_loss,
)
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

SPECIAL = np.array([0, 1, 2, 3, 4])
MASK = 4


def masked(ids, *, seed=0, rate=0.15, mask=0.8, random=0.1, draw="each"):
    return masked_tokens(
        ids,
        [len(ids)],
        special_ids=SPECIAL,
        mask_id=MASK,
        vocabulary_size=1000,
        rate=rate,
        mask=mask,
        random=random,
        draw=draw,
        generators=[np.random.default_rng(seed)],
    )


def test_shares_of_masked_replaced_and_kept_tokens_are_berts():
    ids = np.random.default_rng(9).integers(5, 1000, 200_000)
    fed, labels = masked(ids)
    chosen = labels != IGNORED
    assert chosen.mean() == pytest.approx(0.15, abs=0.004)  # 5 standard deviations of 200,000 draws
    assert (fed[chosen] == MASK).mean() == pytest.approx(0.8, abs=0.012)
    kept = (fed[chosen] == ids[chosen]).mean()
    assert kept == pytest.approx(0.1 + 0.1 / 1000, abs=0.009)  # a random token may be the same again
    drawn = fed[chosen & (fed != MASK) & (fed != ids)]
    quarters = np.bincount(drawn // 250, minlength=4) / len(drawn)  # of all 1,000 entries, special ones too
    assert quarters == pytest.approx(np.full(4, 0.25), abs=0.04)  # 5 standard deviations of 3,000 draws
    assert set(SPECIAL) - {MASK} <= set(drawn.tolist())


def test_labels_are_the_tokens_that_stood_there_and_the_rest_is_untouched():
    ids = np.random.default_rng(9).integers(5, 1000, 5000)
    fed, labels = masked(ids)
    chosen = labels != IGNORED
    assert (labels[chosen] == ids[chosen]).all()
    assert (fed[~chosen] == ids[~chosen]).all()


def test_special_tokens_are_never_selected():
    ids = np.random.default_rng(9).integers(0, 10, 5000)
    fed, labels = masked(ids, rate=1.0)
    special = np.isin(ids, SPECIAL)
    assert (labels[special] == IGNORED).all() and (fed[special] == ids[special]).all()
    assert (labels[~special] != IGNORED).all()


def test_a_text_is_masked_the_same_in_every_batch_and_otherwise_by_another_seed():
    texts = [np.arange(5, 5 + n) for n in (30, 12, 40)]
    tokenizer = tiny_tokenizer()

    def batch(order, seed):
        generators = [np.random.default_rng((seed, place)) for place in order]
        shares = {"rate": 0.3, "mask": 0.8, "random": 0.1, "draw": "each"}
        return masked_texts([texts[i] for i in order], tokenizer=tokenizer, generators=generators, **shares)

    one, other = batch([0, 1, 2], 7), batch([2, 0], 7)
    assert (one["masked_ids"][2] == other["masked_ids"][0]).all()
    assert (one["masked_ids"][0, :32] == other["masked_ids"][1, :32]).all()
    assert (batch([0, 1, 2], 8)["masked_ids"] != one["masked_ids"]).any()


def counted_by_loops(ids, rate, seed):
    chances, left = np.random.default_rng(seed).random((2, len(ids)))[0].tolist(), []
    for place, one in enumerate(ids.tolist()):
        if one not in SPECIAL.tolist():
            left.append(place)
    chosen = []
    while left and len(chosen) < max(1, round(rate * len(ids))):
        best = left[0]
        for place in left:
            best = place if chances[place] < chances[best] else best
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.99])
def test_an_exact_count_is_berts_share_of_a_text_with_its_special_tokens(rate):
    generator = np.random.default_rng(3)
    for seed in range(60):
        ids = generator.integers(0, 20, generator.integers(1, 40))
        fed, labels = masked(ids, seed=seed, rate=rate, draw="count")
        places = np.flatnonzero(labels != IGNORED).tolist()
        assert places == counted_by_loops(ids, rate, seed)
        assert len(places) == min(max(1, round(rate * len(ids))), (~np.isin(ids, SPECIAL)).sum())
        assert (labels[places] == ids[places]).all()
        assert (np.delete(fed, places) == np.delete(ids, places)).all()


def test_texts_of_a_batch_have_the_exact_count_that_each_has_alone():
    texts, tokenizer = [np.arange(5, 5 + n) for n in (30, 1, 40)], tiny_tokenizer()
    shares = {"rate": 0.3, "mask": 0.8, "random": 0.1, "draw": "count", "tokenizer": tokenizer}
    together = masked_texts(texts, generators=[np.random.default_rng(n) for n in range(3)], **shares)
    assert (together["labels"] != IGNORED).sum(dim=1).tolist() == [10, 1, 13]
    for place, text in enumerate(texts):
        alone = masked_texts([text], generators=[np.random.default_rng(place)], **shares)
        assert (together["masked_ids"][place, : len(text) + 2] == alone["masked_ids"][0]).all()


def test_an_unknown_draw_is_refused():
    with pytest.raises(UsageError, match="half"):
        masked(np.arange(5, 25), draw="half")


def test_a_batch_is_framed_and_padded():
    tokenizer = tiny_tokenizer()
    texts = [np.array([10, 11, 12]), np.array([], dtype=int)]
    generators = [np.random.default_rng(place) for place in (0, 1)]
    shares = {"rate": 1.0, "mask": 1.0, "random": 0.0, "draw": "each"}
    batch = masked_texts(texts, tokenizer=tokenizer, generators=generators, **shares)
    assert batch["clean_ids"].tolist() == [[2, 10, 11, 12, 3], [2, 3, 0, 0, 0]]
    assert batch["masked_ids"].tolist() == [[2, 4, 4, 4, 3], [2, 3, 0, 0, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 10, 11, 12, IGNORED], [IGNORED] * 5]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]


def test_a_random_word_may_be_any_of_the_vocabulary_the_last_one_too():
    places = {"special_ids": SPECIAL, "mask_id": MASK, "vocabulary_size": 7, "draw": "each"}
    shares = {"rate": 1.0, "mask": 0.0, "random": 1.0}
    ids, generators = np.full(400, 5), [np.random.default_rng(0)]
    fed, _ = masked_tokens(ids, [400], generators=generators, **places, **shares)
    assert set(fed.tolist()) == set(range(7))


def loops(logits, labels, reduction):
    total, count = 0.0, 0
    for text, marks in zip(logits, labels, strict=True):
        for scores, label in zip(text, marks, strict=True):
            if label != IGNORED:
                total += math.log(sum(math.exp(score) for score in scores)) - scores[label]
                count += 1
    return total / count if reduction == "mean" else total


@pytest.fixture
def batch():
    logits = torch.randn(2, 4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[2, IGNORED, 6, IGNORED], [IGNORED, 0, IGNORED, IGNORED]])
    return logits, labels


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_is_the_equation_written_as_loops(batch, reduction):
    logits, labels = batch
    loss = token_cross_entropy(logits, labels, reduction=reduction)
    close(loss, loops(logits.tolist(), labels.tolist(), reduction))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_logarithm_of_half_precision_logits_is_taken_in_float32(dtype):
    loss = token_cross_entropy(torch.zeros(1, 3000, dtype=dtype), torch.tensor([7]), reduction="mean")
    assert loss.dtype == torch.float32
    close(loss, math.log(3000))


def loss_and_gradients(hidden, head, labels, *, reduction="mean") -> dict[str, torch.Tensor]:
    loss = vocabulary_loss(hidden, head, labels, reduction=reduction)
    found = torch.autograd.grad(loss, [hidden, *head.parameters()])
    return {"loss": loss.detach()} | {str(place): gradient for place, gradient in enumerate(found)}


def states() -> tuple[torch.Tensor, torch.nn.Linear, torch.Tensor]:
    torch.manual_seed(1)
    hidden = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
    return hidden, torch.nn.Linear(4, 7).double(), torch.randint(7, (10,))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("chunk", [1, 3, 10, 64])
@pytest.mark.parametrize("scarce", [False, True])
def test_chunks_give_the_plain_form_and_are_computed_again_only_if_memory_is_scarce(
    monkeypatch, reduction, chunk, scarce
):
    (hidden, head, labels), seen = states(), []
    labels[3] = IGNORED
    plain = loss_and_gradients(hidden, head, labels, reduction=reduction)
    head.register_forward_hook(lambda layer, given, out: seen.append(len(out)))
    monkeypatch.setattr(masked_module, "CHUNK", chunk)
    monkeypatch.setattr(masked_module, "is_scarce", lambda: scarce)
    close(loss_and_gradients(hidden, head, labels, reduction=reduction), plain)
    assert max(seen) == min(chunk, 10) and sum(seen) == (20 if scarce and chunk < 10 else 10)


def test_memory_is_scarce_if_this_process_uses_most_of_it(monkeypatch):
    assert not precision.is_scarce()
    monkeypatch.setattr("repro.machine.system.memory", lambda: 1)
    assert precision.is_scarce()


@pytest.mark.parametrize(("chunk", "scarce"), [(64, False), (3, False), (3, True)])
def test_logits_of_autocast_are_kept_as_they_are_and_summed_in_float32(monkeypatch, chunk, scarce):
    hidden, head, labels = states()
    hidden, head, kept = hidden.detach().float().requires_grad_(), head.float(), []
    exact = loss_and_gradients(hidden, head, labels)
    monkeypatch.setattr(masked_module, "CHUNK", chunk)
    monkeypatch.setattr(masked_module, "is_scarce", lambda: scarce)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one) or one, lambda one: one):
            assert vocabulary_loss(hidden, head, labels, reduction="mean").dtype == torch.float32
        close(loss_and_gradients(hidden, head, labels), exact, dtype="bfloat16", terms=16)
    assert not [one for one in kept if one.dtype == torch.float32 and one.shape[1:] == (7,)]


class FusedLoss:
    """Stands for Liger-Kernel's class, which has this interface."""

    calls = 0

    def __init__(self, ignore_index: int, reduction: str):
        self.how = {"ignore_index": ignore_index, "reduction": reduction}

    def __call__(self, weight, states, target, bias=None):
        type(self).calls += 1
        return torch.nn.functional.cross_entropy((states @ weight.T + bias).float(), target, **self.how)


@pytest.mark.parametrize(
    ("kind", "dtype", "calls"),
    [("cuda", torch.bfloat16, 1), ("cuda", torch.float16, 0), ("cpu", torch.bfloat16, 0)],
)
def test_a_gpu_in_bf16_takes_the_loss_of_liger_kernel_if_installed(monkeypatch, kind, dtype, calls):
    head = tiny_masked_lm().cls
    hidden = torch.randn(9, head.predictions.decoder.in_features, requires_grad=True)
    labels = torch.randint(50, (9,))
    labels[2] = IGNORED
    exact = loss_and_gradients(hidden, head, labels)
    monkeypatch.setattr(masked_module, "device", lambda: torch.device(kind))
    monkeypatch.setattr(FusedLoss, "calls", 0)
    with torch.autocast("cpu", dtype):
        alone = loss_and_gradients(hidden, head, labels)
        module = SimpleNamespace(LigerFusedLinearCrossEntropyLoss=FusedLoss)
        monkeypatch.setitem(sys.modules, "liger_kernel.transformers", module)
        found = loss_and_gradients(hidden, head, labels)
    assert FusedLoss.calls == calls
    for some in (alone, found):
        close(some, exact, dtype="bfloat16", terms=16)
