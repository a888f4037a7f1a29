from __future__ import annotations

import math

import pytest
import torch

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from repro.errors import UsageError
from tests.floats import close
from tests.tiny_models import tiny_masked_lm


def decoder(**how):
    torch.manual_seed(3)
    made = BottleneckDecoder.new(tiny_masked_lm(dropout=0.0).config, layers=how.pop("layers", 1), **how)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made.double().eval()


def inputs(count=2, length=7):
    generator = torch.Generator().manual_seed(5)
    hidden = torch.randn(count, length, 32, dtype=torch.float64, generator=generator)
    mask = torch.ones(count, length, dtype=torch.long)
    mask[1, 5:] = 0
    return hidden, mask


def attended(layer, hidden, sees):
    """Self-attention and feed-forward of one BertLayer, head by head."""
    own = layer.attention.self
    query, key, value = (projection(hidden) for projection in (own.query, own.key, own.value))
    size, places = own.attention_head_size, range(len(hidden))
    mixed = torch.zeros_like(hidden)
    for head in range(own.num_attention_heads):
        part = slice(head * size, (head + 1) * size)
        for i in places:
            seen = [j for j in places if sees(i, j)]
            weights = [math.exp(float(query[i, part] @ key[j, part]) / math.sqrt(size)) for j in seen]
            for j, weight in zip(seen, weights, strict=True):
                mixed[i, part] += weight / sum(weights) * value[j, part]
    attention = layer.attention.output(mixed, hidden)
    return layer.output(layer.intermediate(attention), attention)


@pytest.mark.parametrize(
    "how, rule",
    [
        ({}, lambda i, j: True),
        ({"attention": "causal"}, lambda i, j: j <= i),
        ({"attention": "causal", "window": 2}, lambda i, j: j in (0, i - 1, i) and j <= i),
        ({"attention": "causal", "window": 2, "sees_first": False}, lambda i, j: j in (i - 1, i)),
    ],
)
def test_a_layer_is_attention_over_the_visible_positions_written_as_loops(how, rule):
    made, (hidden, mask) = decoder(**how), inputs()
    with torch.no_grad():
        found = made(hidden, mask)
        for text in range(2):
            real = int(mask[text].sum())
            expected = attended(
                made.layers[0], hidden[text], lambda i, j, real=real: (rule(i, j) and j < real) or i == j
            )
            close(found[text], expected)


def test_layers_copied_from_an_encoder_are_its_last_and_its_own_no_more():
    model = tiny_masked_lm(layers=3)
    made = BottleneckDecoder.from_last_layers(model, layers=2)
    for copied, own in zip(made.layers, model.base_model.encoder.layer[1:], strict=True):
        for (name, mine), theirs in zip(copied.named_parameters(), own.parameters(), strict=True):
            assert torch.equal(mine, theirs) and mine is not theirs, name


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_layers_copied_from_an_encoder_keep_to_the_mask_however_it_computes_attention(implementation):
    model = tiny_masked_lm(dropout=0.0).double()
    model.set_attn_implementation(implementation)
    how = {"attention": "causal", "window": 2, "sees_first": False}
    made, (hidden, mask) = BottleneckDecoder.from_last_layers(model, layers=1, **how).eval(), inputs()
    hidden.requires_grad_()
    weights = torch.linspace(-1, 1, 32, dtype=torch.float64)  # a LayerNorm's plain sum has no gradient
    (gradient,) = torch.autograd.grad(made(hidden, mask)[0, 4] @ weights, hidden)
    assert gradient[0].abs().sum(dim=-1).nonzero().flatten().tolist() == [3, 4]
    assert model.config._attn_implementation == implementation


@pytest.mark.parametrize("how", [{"attention": "banded"}, {"window": 0}])
def test_an_impossible_attention_is_a_usage_error(how):
    with pytest.raises(UsageError):
        decoder(**how)


def test_more_layers_than_the_encoder_has_cannot_be_copied():
    with pytest.raises(UsageError, match="3 layers"):
        BottleneckDecoder.from_last_layers(tiny_masked_lm(), layers=3)
