import math

import numpy as np
import pytest
import torch

from repro.retrieval.nn import view_encoder
from repro.retrieval.nn.view_encoder import flops, kept_positions, max_log_saturated, top_k
from tests.floats import close
from tests.tiny_models import tiny_tokenizer

B, L, H, V = 5, 7, 4, 11


def made(seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(B, L, H, dtype=torch.float64, generator=generator)
    head = torch.nn.Linear(H, V, dtype=torch.float64)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    keep = torch.rand(B, L, generator=generator) < 0.6
    keep[0, 0], keep[-1] = True, False
    return hidden, head, keep


def equation(hidden, head, keep):
    logits = head(hidden).tolist()
    return [
        [
            max([0.0] + [math.log1p(max(0.0, logits[b][i][j])) for i in range(L) if keep[b, i]])
            for j in range(V)
        ]
        for b in range(B)
    ]


@pytest.mark.parametrize("positions", [1, 2 * L, 10_000])
def test_the_vector_is_the_equation_written_as_loops_in_blocks_of_any_size(monkeypatch, positions):
    monkeypatch.setattr(view_encoder, "POSITIONS", positions)
    hidden, head, keep = made()
    for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with context():
            vectors = max_log_saturated(hidden, head, keep)
        close(vectors.tolist(), equation(hidden, head, keep))
    assert (vectors[-1] == 0).all()


@pytest.mark.parametrize("positions", [1, 10_000])
def test_blocks_change_no_gradient(monkeypatch, positions):
    monkeypatch.setattr(view_encoder, "POSITIONS", positions)
    hidden, head, keep = made()
    weights = torch.randn(B, V, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    gradients = []
    for function in (max_log_saturated, plain):
        states = hidden.clone().requires_grad_()
        head.zero_grad()
        (function(states, head, keep) * weights).sum().backward()
        gradients.append([states.grad, *(parameter.grad.clone() for parameter in head.parameters())])
    for found, expected in zip(*gradients, strict=True):
        close(found, expected)
    assert (gradients[0][0][~keep] == 0).all()  # a position that is not kept learns nothing


def plain(hidden, head, keep):
    saturated = head(hidden).relu().log1p() * keep.unsqueeze(-1)
    return saturated.max(dim=1).values


def test_half_precision_comes_out_as_float32_and_half_vectors_have_gradients():
    hidden, head, keep = made()
    states = hidden.bfloat16().requires_grad_()
    vectors = max_log_saturated(states, head.bfloat16(), keep)
    vectors.sum().backward()
    assert vectors.dtype == torch.float32 and states.grad.isfinite().all()


def test_logits_are_computed_once_and_not_kept_for_the_gradient(monkeypatch):
    monkeypatch.setattr(view_encoder, "POSITIONS", 64)
    texts, length, size, vocabulary = 32, 32, 16, 4096
    hidden = torch.randn(texts, length, size, requires_grad=True)
    head = torch.nn.Linear(size, vocabulary)
    saved, made = [], []

    def pack(tensor):
        saved.append(tensor.numel())
        return tensor

    def counted(states):
        made.append(states.shape[0] * states.shape[1] * vocabulary)
        return head(states)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = max_log_saturated(hidden, counted, torch.ones(texts, length, dtype=torch.bool)).sum()
    assert max(saved) <= texts * vocabulary < texts * length * vocabulary
    assert max(made) == 64 * vocabulary
    loss.backward()
    assert len(made) == texts * length // 64 and hidden.grad.abs().sum() > 0


@pytest.mark.parametrize("cls", [True, False])
@pytest.mark.parametrize("sep", [True, False, "between"])
def test_specials_are_kept_as_asked_and_padding_never(cls, sep):
    tokenizer = tiny_tokenizer()
    ids = tokenizer(["king[SEP]queen", "river", "storm ship"], padding=True, return_tensors="pt")
    keep = kept_positions(ids["input_ids"], ids["attention_mask"], cls=cls, sep=sep, tokenizer=tokenizer)
    for row, tokens in zip(keep, ids["input_ids"], strict=True):
        names = tokenizer.convert_ids_to_tokens(tokens)
        expected = [{"[CLS]": cls, "[SEP]": bool(sep), "[PAD]": False}.get(name, True) for name in names]
        if sep == "between":
            expected[max(place for place, name in enumerate(names) if name == "[SEP]")] = False
        assert row.tolist() == expected


def highest(row, k):
    kept = sorted(range(len(row)), key=lambda place: (-row[place], place))[:k]
    return [value if place in kept else 0.0 for place, value in enumerate(row)]


@pytest.mark.parametrize("k", [1, 3, 10, 11, 50])
def test_top_k_keeps_the_highest_and_of_ties_the_first(k):
    generator = np.random.default_rng(k)
    for _ in range(200):
        rows = torch.tensor(generator.integers(0, 5, (4, 11)) / 4)
        kept = top_k(rows, k)
        assert kept.tolist() == [highest(row, k) for row in rows.tolist()]
        assert ((kept != 0).sum(dim=1) == (rows != 0).sum(dim=1).clamp(max=k)).all()


def test_what_is_cut_off_gets_no_gradient_and_the_rest_all_of_it():
    rows = torch.rand(6, 40, generator=torch.Generator().manual_seed(0)).requires_grad_()
    kept = top_k(rows, 7)
    kept.sum().backward()
    assert torch.equal(rows.grad, (kept != 0).float()) and (rows.grad.sum(dim=1) == 7).all()


def test_flops_is_the_equation_written_as_loops():
    rows = torch.randn(5, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = sum((sum(abs(rows[i, j].item()) for i in range(5)) / 5) ** 2 for j in range(9))
    close(flops(rows), expected)
    close(flops(rows[[3, 1, 0, 4, 2]]), expected)


def test_flops_ask_nothing_of_a_value_that_is_zero_everywhere():
    rows = torch.rand(5, 9, generator=torch.Generator().manual_seed(0))
    rows[:, 4] = 0
    rows.requires_grad_()
    flops(rows).backward()
    assert (rows.grad[:, 4] == 0).all()
    slope = 2 * rows.detach().mean(dim=0) / len(rows)  # of (1/5 sum_i |r_ij|)^2
    close(rows.grad, slope.expand(5, -1))
