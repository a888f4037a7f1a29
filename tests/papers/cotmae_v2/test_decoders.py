from __future__ import annotations

import math

import pytest
import torch

from papers.cotmae_v2.decoders import decoded, new_decoder
from repro.errors import UsageError
from tests.floats import close
from tests.tiny_models import tiny_masked_lm

KINDS = [("auto_encoding", "bert"), ("auto_regressive", "gpt2"), ("auto_regressive", "bert")]
CAUSAL = [kind for decoder, kind in KINDS if decoder == "auto_regressive"]
WEIGHTS = torch.linspace(-1, 1, 32, dtype=torch.float64)  # the plain sum after a LayerNorm has no gradient


def decoder(name="auto_regressive", kind="gpt2", *, layers=2, window=0, dropout=0.0):
    torch.manual_seed(1)
    config = tiny_masked_lm(dropout=dropout).config
    return new_decoder(config, decoder=name, kind=kind, layers=layers, window=window).double()


def states(count=2, length=9):
    generator = torch.Generator().manual_seed(3)
    drawn = torch.randn((count, length, 32), generator=generator, dtype=torch.float64)
    return drawn, torch.ones((count, length), dtype=torch.long)


def touched(made, place: int) -> list[int]:
    """The positions whose states have a gradient from one position's output."""
    hidden, mask = states(1)
    hidden.requires_grad_()
    (gradient,) = torch.autograd.grad(made(hidden, mask)[0, place] @ WEIGHTS, hidden)
    return gradient[0].any(dim=-1).nonzero().flatten().tolist()


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("window", [1, 3])
def test_in_a_window_a_position_sees_the_vector_and_the_last_ones(kind, window):
    made = decoder(kind=kind, layers=1, window=window)
    for place in range(9):
        assert touched(made, place) == sorted({0, *range(max(0, place - window + 1), place + 1)})


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize("slot", ["replace", "prepend"])
def test_every_token_sees_the_vector_and_a_replaced_cls_is_seen_by_none(name, kind, slot):
    made, (embedded, mask) = decoder(name, kind, window=0 if name == "auto_encoding" else 2), states()
    vectors = states(2, 1)[0][:, 0].requires_grad_()
    embedded.requires_grad_()
    for place in range(9):
        out = decoded(made, vectors, embedded, mask, slot=slot)
        assert out.shape == embedded.shape
        both = torch.autograd.grad(out[0, place] @ WEIGHTS, (vectors, embedded))
        assert both[0][0].any() and not both[0][1].any()
        assert slot == "prepend" or (both[1][:, 0] == 0).all()
    if slot == "prepend":
        out = decoded(made, vectors, embedded, mask, slot=slot)
        assert torch.autograd.grad(out[0, 1] @ WEIGHTS, embedded)[0][0, 0].any()


def test_gpt2_blocks_are_the_equations_written_out():
    made, (hidden, mask) = decoder(layers=2), states(1, 5)
    expected = hidden[0]
    for block in made.layers:
        normed = block.ln_1(expected)
        query, key, value = (normed @ block.attn.c_attn.weight + block.attn.c_attn.bias).split(32, dim=-1)
        mixed = torch.zeros_like(query)
        for head in (slice(0, 16), slice(16, 32)):
            for i in range(5):
                scores = torch.stack([query[i, head] @ key[j, head] / math.sqrt(16) for j in range(i + 1)])
                shares = scores.softmax(dim=0)
                mixed[i, head] = sum(shares[j] * value[j, head] for j in range(i + 1))
        expected = expected + mixed @ block.attn.c_proj.weight + block.attn.c_proj.bias
        inner = block.ln_2(expected) @ block.mlp.c_fc.weight + block.mlp.c_fc.bias
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        expected = expected + inner @ block.mlp.c_proj.weight + block.mlp.c_proj.bias
    close(made(hidden, mask)[0], made.norm(expected))


def test_gpt2_drops_of_what_it_reads():
    made, (hidden, mask) = decoder(dropout=0.5), states()
    assert (made.train()(hidden, mask) != made(hidden, mask)).any()
    assert (made.eval()(hidden, mask) == made(hidden, mask)).all()
    seen = []
    made.layers[0].ln_1.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    made.train()(hidden, mask)
    dropped = seen[0] == 0
    assert 0.4 < dropped.double().mean() < 0.6
    close(seen[0][~dropped], 2 * hidden[~dropped])


@pytest.mark.parametrize(
    "wrong",
    [
        {"decoder": "autoregressive"},
        {"decoder": "auto_encoding", "kind": "gpt2"},
        {"kind": "gpt"},
        {"layers": 0},
        {"window": -1},
    ],
)
def test_a_decoder_that_is_none_is_a_usage_error(wrong):
    given = {"decoder": "auto_regressive", "kind": "gpt2", "layers": 1, "window": 0} | wrong
    with pytest.raises(UsageError):
        new_decoder(tiny_masked_lm().config, **given)
