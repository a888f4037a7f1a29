from __future__ import annotations

import math

import pytest
import torch

from papers.simlm.token_losses import detection, predicted, reconstruction
from tests.floats import close

N, L, H, V = 4, 6, 5, 11
COUNTED = torch.tensor(
    [[0, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0]], dtype=torch.bool
)


def tensors(seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(N, L, H, dtype=torch.float64, generator=generator)
    matrix = torch.randn(V, H, dtype=torch.float64, generator=generator)
    return hidden, matrix, torch.randint(0, V, (N, L), generator=generator)


def mean_of_means(losses: list[list[float]], per: str) -> float:
    kept = [text for text in losses if text]
    if per == "text":
        return sum(sum(text) / len(text) for text in kept) / len(kept)
    return sum(map(sum, kept)) / sum(map(len, kept))


@pytest.mark.parametrize("per", ["batch", "text"])
def test_the_reconstruction_is_equation_2_written_as_loops(per):
    hidden, matrix, tokens = tensors()
    losses = []
    for n in range(N):
        losses.append([])
        for i in range(L):
            if COUNTED[n, i]:
                scores = [sum(matrix[v, h] * hidden[n, i, h] for h in range(H)).item() for v in range(V)]
                likelihood = math.exp(scores[tokens[n, i]]) / sum(map(math.exp, scores))
                losses[-1].append(-math.log(likelihood))
    loss = reconstruction(hidden, lambda h: h @ matrix.T, tokens, COUNTED, per=per)
    close(loss, mean_of_means(losses, per))


@pytest.mark.parametrize("per", ["batch", "text"])
def test_the_detection_is_the_binary_cross_entropy_written_as_loops(per):
    scores, replaced = tensors()[0][..., 0], tensors(1)[2] % 2 == 0
    losses = []
    for n in range(N):
        losses.append([])
        for i in range(L):
            if COUNTED[n, i]:
                s = 1 / (1 + math.exp(-scores[n, i]))
                losses[-1].append(-math.log(s if replaced[n, i] else 1 - s))
    loss = detection(scores, replaced, COUNTED, per=per)
    close(loss, mean_of_means(losses, per))


def test_half_precision_scores_are_not_rounded_before_the_logarithm():
    scores = torch.tensor([[-20.0, 9.0]], dtype=torch.float16)
    loss = detection(scores, torch.tensor([[False, True]]), torch.tensor([[True, True]]), per="batch")
    assert loss.dtype == torch.float32
    close(loss, math.log1p(math.exp(-9)) / 2)


def test_all_positions_are_all_tokens_with_or_without_the_special_ones():
    batch = {
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0]]),
        "special": torch.tensor([[True, False, False, True, True]]),
    }
    assert predicted(batch, specials=False).tolist() == [[False, True, True, False, False]]
    assert predicted(batch, specials=True).tolist() == [[True, True, True, True, False]]
