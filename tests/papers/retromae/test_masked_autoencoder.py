"""The losses of RetroMAE against Eqs. 1 to 7 written as loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.retromae.masked_autoencoder import MaskedAutoEncoder
from repro.errors import UsageError
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.training.objective import build
from tests.floats import apart, close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "decoder": "enhanced",
    "decoder_layers": 1,
    "encoder_rate": 0.3,
    "decoder_rate": 0.5,
    "unit": "whole-word",
    "masking": {"mask": 0.8, "random": 0.1},
    "contexts": 4,
    "length": 24,
    "seed": 7,
}
BASIC = {"decoder": "basic", "decoder_layers": 2}


def objective(*, dropout=0.0, **changes) -> MaskedAutoEncoder:
    torch.manual_seed(1)
    return build(
        MaskedAutoEncoder, tiny_masked_lm(dropout=dropout), tiny_tokenizer(), OPTIONS | changes
    ).double()


def rows(count=3, epoch=0):
    generator, tokenizer = np.random.default_rng(5), tiny_tokenizer()
    texts = [tiny_text(generator, 5 + 2 * n) for n in range(count)]
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [{"input_ids": np.array(ids), "epoch": epoch, "index": n} for n, ids in enumerate(encoded)]


def loops(logits, labels) -> float:
    places = (labels != IGNORED).nonzero().tolist()
    losses = [torch.logsumexp(logits[n, i], 0) - logits[n, i, labels[n, i]] for n, i in places]
    return (sum(losses) / len(losses)).item()


def enhanced_as_loops(made, h, batch, n) -> torch.Tensor:
    """Eqs. 4 and 5 for text n, one row and one head after the other: (L, H)."""
    layer, embed = made.decoder.layers[0], made.encoder.base_model.embeddings
    attention, tokens = layer.attention.self, embed(input_ids=batch["decoder_ids"])[n]
    places = embed.position_embeddings.weight
    context = torch.cat((h[None], tokens[1:]))
    queries = h + places[: len(context)]
    heads, parts = attention.num_attention_heads, (attention.query, attention.key, attention.value)
    q, k, v = (
        part(some).unflatten(-1, (heads, -1)).tolist()
        for part, some in zip(parts, (queries, context, context), strict=True)
    )
    attended = []
    for i in range(len(context)):
        seen, row = [j for j in range(len(context)) if batch["visible"][n, i, j]], []
        for a in range(heads):
            products = [sum(x * y for x, y in zip(q[i][a], k[j][a], strict=True)) for j in seen]
            scores = [math.exp(product / math.sqrt(len(q[i][a]))) for product in products]
            for x in range(len(q[i][a])):
                weighted = (s * v[j][a][x] for s, j in zip(scores, seen, strict=True))
                row.append(sum(weighted) / sum(scores))
        attended.append(row)
    rows_of_a = layer.attention.output(torch.tensor(attended, dtype=torch.float64), queries)
    return layer.output(layer.intermediate(rows_of_a), rows_of_a)


@torch.no_grad()
def test_enhanced_decoding_is_equations_4_to_6_written_as_loops():
    made = objective()
    batch, bert = made.collate(rows()), made.encoder
    hidden = made.hidden(batch["encoder_ids"], batch["attention_mask"])
    rebuilt = torch.stack([enhanced_as_loops(made, hidden[n, 0], batch, n) for n in range(3)])
    losses = made(batch)
    close(losses["encoder"].item(), loops(bert.cls(hidden), batch["encoder_labels"]))
    close(losses["decoder"].item(), loops(bert.cls(rebuilt), batch["decoder_labels"]))


def test_basic_decoding_is_equations_2_and_3_written_as_loops():
    made = objective(**BASIC)
    batch, bert = made.collate(rows()), made.encoder
    h = made.hidden(batch["encoder_ids"], batch["attention_mask"])[:, :1]
    tokens = bert.base_model.embeddings(input_ids=batch["decoder_ids"])
    decoded = made.decoder(torch.cat((h, tokens[:, 1:]), dim=1), batch["attention_mask"])
    close(made(batch)["decoder"].item(), loops(bert.cls(decoded), batch["decoder_labels"]))
    assert ((batch["decoder_labels"] != IGNORED) != (batch["encoder_labels"] != IGNORED)).any()


@pytest.mark.parametrize("contexts", [4, None])
def test_a_row_of_equation_7_hides_its_own_token_and_shows_the_first_place(contexts):
    made = objective(contexts=contexts)
    batch = made.collate(rows())
    length = int(batch["attention_mask"][1].sum())
    visible = batch["visible"][1, :length, :length]
    assert not visible.diagonal().any() and visible[1:, 0].all()
    inner = visible[1:-1, 1:-1]
    others = ~torch.eye(length - 2, dtype=torch.bool)
    share = 1 - inner[others].double().mean().item()
    assert share == pytest.approx(0.5, abs=0.1)
    samples = {tuple(row[others[i]].tolist()) for i, row in enumerate(inner)}
    assert len(samples) > 4
    kept = [set((~row).nonzero().flatten().tolist()) - {i} for i, row in enumerate(inner)]
    distinct = sum(all(a - {j} != b - {i} for j, b in enumerate(kept[:i])) for i, a in enumerate(kept))
    assert (distinct <= 4) is (contexts == 4)


def test_every_token_of_a_text_is_rebuilt_and_no_special_one():
    batch = objective().collate(rows())
    inner = batch["attention_mask"].sum(dim=1) - 2
    assert ((batch["decoder_labels"] != IGNORED).sum(dim=1) == inner).all()


def test_what_a_row_may_not_see_has_no_gradient_and_what_it_sees_has():
    made = objective()
    batch = made.collate(rows(1))
    context = made.encoder.base_model.embeddings(input_ids=batch["decoder_ids"]).detach().requires_grad_()
    made.inputs = lambda h_cls, batch: context
    states = made.enhanced_states(torch.zeros(1, context.shape[-1], dtype=torch.float64), batch)
    for i in (1, 5):
        some = (states[0, i] * torch.arange(states.shape[-1])).sum()
        (gradient,) = torch.autograd.grad(some, context, retain_graph=True)
        moved = gradient[0].abs().sum(dim=-1) > 0
        assert torch.equal(moved, batch["visible"][0, i])


@pytest.mark.parametrize("changes", [{}, BASIC], ids=["enhanced", "basic"])
def test_padding_changes_nothing(changes):
    made = objective(**changes)
    alone, beside = made.collate(rows(1)), made.collate(rows(3))
    assert beside["decoder_ids"].shape[1] > alone["decoder_ids"].shape[1]
    first = {name: tensor[:1] for name, tensor in beside.items()}
    close(made(first)["decoder"].item(), made(alone)["decoder"].item())


def test_dropout_of_the_attention_is_for_training_only():
    made = objective(dropout=0.5)
    batch, h = made.collate(rows()), torch.ones(3, made.encoder.config.hidden_size, dtype=torch.float64)
    made.train()
    apart(made.enhanced_states(h, batch), made.enhanced_states(h, batch))
    made.eval()
    close(made.enhanced_states(h, batch), made.enhanced_states(h, batch))


def test_the_decoder_sees_the_text_through_the_vector_that_the_encoder_learns():
    made = objective(**BASIC)
    batch = made.collate(rows())
    batch["encoder_labels"] = torch.full_like(batch["encoder_labels"], IGNORED)
    losses = made(batch)
    assert set(losses) == {"decoder"}
    weight = made.encoder.base_model.encoder.layer[0].attention.self.query.weight
    (gradient,) = torch.autograd.grad(losses["decoder"], [weight])
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"decoder_layers": 2}, "has one layer"), ({"contexts": 0}, "leave no context"), ({"unit": "x"}, "'x'")],
)
def test_what_cannot_be_is_refused(changes, told):
    with pytest.raises(UsageError, match=told):
        objective(**changes)
