from __future__ import annotations

import pytest
import torch

from repro.errors import UsageError
from repro.nn.pooling import pooled, span_means


@pytest.fixture
def hidden():
    return torch.randn(3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def test_cls_is_the_first_token_and_mean_leaves_padding_out(hidden):
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    assert (pooled(hidden, mask, pooling="cls") == hidden[:, 0]).all()
    mean = pooled(hidden, mask, pooling="mean")
    for text, count in enumerate((6, 3, 1)):
        torch.testing.assert_close(mean[text], hidden[text, :count].mean(dim=0))


def test_an_unknown_pooling_is_a_usage_error(hidden):
    with pytest.raises(UsageError, match="did you mean 'mean'"):
        pooled(hidden, torch.ones(3, 6), pooling="means")


def test_span_means_are_means_of_slices(hidden):
    spans = torch.tensor([[[0, 6], [1, 3], [5, 6]], [[2, 4], [1, 2], [0, 1]], [[0, 0], [3, 6], [1, 5]]])
    found = span_means(hidden, spans)
    assert found.shape == (3, 3, 4)
    for text in range(3):
        for place, (first, end) in enumerate(spans[text].tolist()):
            slice_ = hidden[text, first:end]
            expected = slice_.mean(dim=0) if end > first else torch.zeros(4, dtype=torch.float64)
            torch.testing.assert_close(found[text, place], expected)


def test_a_token_outside_every_span_gets_no_gradient(hidden):
    hidden.requires_grad_()
    span_means(hidden, torch.tensor([[[1, 3]], [[2, 4]], [[0, 0]]])).square().sum().backward()
    assert (hidden.grad[0, [0, 3, 4, 5]] == 0).all() and (hidden.grad[2] == 0).all()
    assert (hidden.grad[0, 1:3] != 0).all()


def test_half_precision_tokens_are_averaged_in_float32():
    hidden = torch.ones(1, 3000, 1, dtype=torch.float16) * 30
    assert span_means(hidden, torch.tensor([[[0, 3000]]])).item() == 30  # the sum is beyond float16
