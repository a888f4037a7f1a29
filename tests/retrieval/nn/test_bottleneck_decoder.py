from __future__ import annotations

import math

import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.bottleneck_decoder import BottleneckDecoder
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
    """Self-attention and feed-forward of one BertLayer, one head and one pair of positions at a time."""
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


@pytest.mark.parametrize("layers", [1, 3])
def test_nothing_flows_back_from_a_position_to_a_later_one(layers):
    made, (hidden, mask) = decoder(attention="causal", layers=layers), inputs()
    hidden.requires_grad_()
    (gradient,) = torch.autograd.grad(made(hidden, mask)[0, 3].sum(), hidden)
    assert gradient[0, :4].abs().sum(dim=-1).all() and not gradient[0, 4:].any() and not gradient[1].any()


def test_outside_its_window_a_position_sees_the_bottleneck_only_if_it_may():
    for sees_first in (True, False):
        made, (hidden, mask) = decoder(attention="causal", window=2, sees_first=sees_first), inputs()
        hidden.requires_grad_()
        (gradient,) = torch.autograd.grad(made(hidden, mask)[0, 4].sum(), hidden)
        assert gradient[0, 3:5].abs().sum(dim=-1).all()
        assert not gradient[0, 1:3].any() and not gradient[0, 5:].any()
        assert bool(gradient[0, 0].any()) is sees_first


def test_full_attention_lets_everything_through_but_padding():
    made, (hidden, mask) = decoder(layers=2), inputs()
    hidden.requires_grad_()
    (gradient,) = torch.autograd.grad(made(hidden, mask)[1, 2].sum(), hidden)
    assert gradient[1, :5].abs().sum(dim=-1).all() and not gradient[1, 5:].any()


def test_padding_changes_nothing():
    made, (hidden, mask) = decoder(attention="causal", window=2, layers=2), inputs()
    changed = hidden.clone()
    changed[1, 5:] = 9.0
    close(made(hidden, mask)[1, :5], made(changed, mask)[1, :5])


def test_new_layers_start_as_berts_do():
    torch.manual_seed(3)
    made = BottleneckDecoder.new(tiny_masked_lm(hidden_size=64).config, layers=2)
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "LayerNorm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.1), name


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
