"""Attention alone on a GPU: whether every way gives the same states, and what each takes of texts of uneven
lengths, forward and backward.

The suite attends padded, or without padding in a text's own length: by one kernel for all texts in half
precision on a GPU, else a call for each length.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from gpu_checks import VECTORS, relative, row
from gpu_models import DEVICE, TYPES, has_flash, lengths, masked_lm, precision
from gpu_rates import HALF, measured, rate, seconds
from torch.nn.functional import scaled_dot_product_attention

from repro.retrieval.nn import padding_free

DROPOUT = 0.1
LENGTH = 144
LAYERS = 12  # calls that are timed together, as a model makes them
PRECISIONS = ("fp32", "fp16", "bf16")


def check(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Fused attention, flash attention where it is installed, and plain attention: equal hidden states."""
    ids = torch.randint(5, chosen.vocabulary, (8, 64), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(64) < torch.tensor([64, 60, 50, 40, 30, 20, 10, 5])[:, None]).long()
    inputs = {"input_ids": ids.to(DEVICE), "attention_mask": mask.to(DEVICE)}
    ways = [("sdpa", name) for name in PRECISIONS] + [("flash_attention_2", "bf16")] * has_flash()

    def hidden(way: str, name: str) -> torch.Tensor:
        model = masked_lm(chosen, attention=way).bert.to(DEVICE).eval()
        with torch.no_grad(), precision(name):
            return model(**inputs).last_hidden_state[inputs["attention_mask"].bool()].float()

    plain = hidden("eager", "fp32")
    for way, name in ways:
        yield row(f"{way}, {name}, and eager, fp32", relative(hidden(way, name), plain), VECTORS[name])
    if not has_flash():
        yield {"compared": "flash_attention_2", "note": "flash-attn is not installed, or there is no GPU"}
    if DEVICE.type == "cuda":
        yield from dropped_out(Uneven(chosen))


def dropped_out(texts: Uneven) -> Iterator[dict]:
    """Half of attention dropped out by the one kernel: so many, of their sum, and the same ones behind.

    Attention is linear in the values: what it gives, times any gradient, is the values times theirs.
    """
    with torch.no_grad():
        plain = texts.one_kernel(0.0).float()
        mean = sum(texts.one_kernel(0.5).float() for _ in range(200)) / 200
    output, values = texts.one_kernel(0.5), texts.given[-1]
    [gradient] = torch.autograd.grad(output, [values], output.detach())
    output, behind = output.detach().double(), (gradient.double() * values.detach().double()).sum()
    compared = "half dropped out by one kernel, bf16"
    yield row(f"{compared}: the mean of 200, and nothing dropped out", relative(mean, plain), 0.2)
    yield row(f"{compared}: one as far from none as all there is", abs(relative(output, plain) - 1), 0.2)
    yield row(f"{compared}: gradient of other places", abs(float(behind / output.square().sum()) - 1), 0.02)


class Uneven:
    """Queries, keys and values of texts of uneven lengths, end to end, (T, heads, 64) each."""

    def __init__(self, chosen: Namespace):
        drawn = np.sort(lengths(np.random.default_rng(1), chosen.texts, most=LENGTH))
        self.lengths, self.heads = drawn.tolist(), max(1, chosen.hidden // 64)
        shape, how = (int(drawn.sum()), self.heads, 64), {"dtype": TYPES[HALF], "device": DEVICE}
        self.given = [torch.randn(shape, **how, requires_grad=True) for _ in range(3)]
        self.layout = padding_free.Layout(self.lengths, DEVICE)
        self.mask = torch.arange(LENGTH) < torch.tensor(drawn)[:, None]

    def one_kernel(self, dropout: float) -> torch.Tensor:
        return padding_free.by_kernel(*self.given, self.layout, dropout)

    def a_call_for_each_length(self, dropout: float) -> torch.Tensor:
        return padding_free.text_by_text(*self.given, self.layout, dropout)

    def nested(self, dropout: float) -> torch.Tensor:
        ends = torch.tensor([0, *np.cumsum(self.lengths)], device=DEVICE)
        size = {"min_seqlen": self.lengths[0], "max_seqlen": self.lengths[-1]}
        given = (
            torch.nested.nested_tensor_from_jagged(values, ends, **size).transpose(1, 2)
            for values in self.given
        )
        return scaled_dot_product_attention(*given, dropout_p=dropout).transpose(1, 2).values()

    def padded(self, dropout: float) -> torch.Tensor:
        rows = self.mask.to(DEVICE)

        def spread(values: torch.Tensor) -> torch.Tensor:
            return values.new_zeros(*rows.shape, *values.shape[1:]).index_put((rows,), values).transpose(1, 2)

        mask = rows[:, None, None, :]
        some = scaled_dot_product_attention(*map(spread, self.given), attn_mask=mask, dropout_p=dropout)
        return some.transpose(1, 2)[rows]


def rates(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Forward and backward of a model's layers of attention by every way, with and without dropout."""
    texts = Uneven(chosen)
    tokens = sum(texts.lengths)
    # two products forward and four backward, each of twice the square of a text's length, heads x 64 wide
    operations = 12 * texts.heads * 64 * sum(length**2 for length in texts.lengths)

    def timed(attend: Callable[[float], torch.Tensor], dropout: float) -> dict:
        with torch.no_grad():
            apart = relative(attend(0.0).float(), texts.padded(0.0).float())

        def run() -> None:
            for _ in range(LAYERS):
                torch.autograd.grad(attend(dropout).sum(), texts.given)

        taken = seconds(run, rounds=chosen.rounds)
        shape = {"texts a step": f"{chosen.texts} of {LENGTH}, half full", "remark": f"apart by {apart:.1e}"}
        return rate(LAYERS * tokens, LAYERS * operations, taken, **shape)

    ways = {
        "padded": texts.padded,
        "a call for each length": texts.a_call_for_each_length,
        "torch's nested tensors": texts.nested,
        "one kernel": texts.one_kernel,
    }
    tools = {
        f"{way}, dropout {dropout}": partial(timed, attend, dropout)
        for dropout in (0.0, DROPOUT)
        for way, attend in ways.items()
    }
    yield from measured("attention of a layer, forward and backward", tools, chosen)


CHECKS = {"check attention": check}
RATES = {"other attention": rates}
