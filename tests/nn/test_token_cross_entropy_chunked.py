from __future__ import annotations

import pytest
import torch

from repro.nn.token_cross_entropy import IGNORED, token_cross_entropy
from repro.nn.token_cross_entropy_chunked import chunked_token_cross_entropy


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("chunk", [1, 3, 10, 64])
def test_value_and_gradients_are_those_of_the_plain_form(reduction, chunk):
    torch.manual_seed(1)
    hidden = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
    head = torch.nn.Linear(4, 7).double()
    labels = torch.randint(7, (10,))
    labels[3] = IGNORED
    plain = token_cross_entropy(head(hidden), labels, reduction=reduction)
    chunked = chunked_token_cross_entropy(hidden, head, labels, reduction=reduction, chunk=chunk)
    torch.testing.assert_close(chunked, plain, atol=1e-12, rtol=1e-12)
    parameters = [hidden, *head.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad(chunked, parameters), torch.autograd.grad(plain, parameters), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)


def test_no_more_logits_than_a_chunk_are_made_at_once():
    seen = []

    def head(states):
        seen.append(len(states))
        return states

    hidden = torch.randn(10, 4, requires_grad=True)
    chunked_token_cross_entropy(hidden, head, torch.zeros(10).long(), reduction="mean", chunk=4).backward()
    assert max(seen) == 4 and sum(seen) == 20  # once forward, once for the gradient
    seen.clear()
    chunked_token_cross_entropy(hidden, head, torch.zeros(10).long(), reduction="mean", chunk=10).backward()
    assert seen == [10]  # what fits at once is not computed twice
