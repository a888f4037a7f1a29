from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from tests.floats import close
from tests.papers.baselines.test_weak_decoder import WEIGHTS, objective, rows

WIDTH = 32


def released(**changes):
    seed = objective(decoder="cross-attention", **changes)
    with torch.no_grad():
        for parameter in seed.decoder.parameters():  # new ones are nearly nothing, and LayerNorms are plain
            parameter.add_(torch.randn_like(parameter) / 3)
    return seed.eval()


def norm(layer, vector):
    return layer_norm(vector, (WIDTH,), layer.weight, layer.bias, 1e-5)


def attention(module, query, others):
    """One place's attention to some others, head by head."""
    size = WIDTH // module.num_heads
    q, k, v = module.in_proj_weight.split(WIDTH)
    bias_q, bias_k, bias_v = module.in_proj_bias.split(WIDTH)
    parts = []
    for head in range(module.num_heads):
        own = slice(head * size, (head + 1) * size)
        asked = (q @ query + bias_q)[own]
        scores = torch.stack([asked @ (k @ o + bias_k)[own] for o in others]) / math.sqrt(size)
        weights = scores.softmax(dim=0)
        parts.append(sum(w * (v @ o + bias_v)[own] for w, o in zip(weights, others, strict=True)))
    return module.out_proj.weight @ torch.cat(parts) + module.out_proj.bias


def by_loops(decoder, embedded, h, *, span):
    """The states of one text, (L, H): pre-norm, the first place always in sight."""
    states = [norm(decoder.norm, e + decoder.positions.weight[i]) for i, e in enumerate(embedded)]
    for layer in decoder.layers:
        inner = [norm(layer.norm1, s) for s in states]
        seen = [sorted({0, *range(max(0, place - span + 1), place + 1)}) for place in range(len(states))]
        states = [
            s + attention(layer.self_attn, inner[place], [inner[j] for j in seen[place]])
            for place, s in enumerate(states)
        ]
        states = [s + attention(layer.multihead_attn, norm(layer.norm2, s), [h]) for s in states]
        states = [s + layer.linear2(gelu(layer.linear1(norm(layer.norm3, s)))) for s in states]
    return torch.stack([norm(decoder.last_norm, s) for s in states])


@pytest.mark.parametrize("span", [1, 2, 4])
def test_the_reconstruction_is_the_released_decoder_written_as_loops(span):
    seed = released(span=span)
    batch = seed.collate(rows())
    matrix = seed.encoder.base_model.embeddings.word_embeddings.weight
    hidden = seed.hidden(batch["masked_ids"], batch["attention_mask"])
    losses = []
    for text, ids in enumerate(batch["clean_ids"]):
        ids = ids[: int(batch["attention_mask"][text].sum())]
        states = by_loops(seed.decoder, matrix[ids], hidden[text, 0], span=span)
        for place in range(len(ids) - 2):
            logits = matrix @ states[place]
            losses.append(torch.logsumexp(logits, dim=0) - logits[ids[place + 1]])
    expected = torch.stack(losses).mean().item()
    close(seed(batch)["reconstruction"], expected)


def test_the_vector_reaches_every_place_in_every_layer_and_tokens_only_their_span():
    seed = released(sees_bottleneck=False, decoder_layers=1)
    mask = torch.ones(1, 12, dtype=torch.long)
    embedded = torch.randn(1, 12, WIDTH, dtype=torch.float64, requires_grad=True)
    h = torch.randn(1, WIDTH, dtype=torch.float64, requires_grad=True)
    state = seed.decoder(embedded, h, mask)[0, 9] @ WEIGHTS
    tokens, vector = torch.autograd.grad(state, (embedded, h))
    assert tokens[0].abs().sum(dim=-1).nonzero().flatten().tolist() == [8, 9] and vector.all()
