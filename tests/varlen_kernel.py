"""A kernel of a CPU in place of ``torch.nn.attention.varlen``'s, which only a GPU has."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention

from repro.nn import packed_layers

SIGNATURE = inspect.signature(varlen.varlen_attn)


def attention(*given: object, **named: object) -> torch.Tensor:
    """What the kernel computes, a text at a time, from arguments that it would take."""
    taken = SIGNATURE.bind(*given, **named).arguments
    assert set(taken) == {"query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"}
    query, key, value, starts, key_starts, longest, longest_key = taken.values()
    assert starts.dtype == key_starts.dtype == torch.int32 and starts.shape == key_starts.shape
    assert starts.is_contiguous() and key_starts.is_contiguous()
    assert all(rows.dim() == 3 and rows.stride(-1) == 1 for rows in (query, key, value))
    assert starts[-1] == len(query) and key_starts[-1] == len(key) == len(value)
    assert starts.diff().max() == longest and key_starts.diff().max() == longest_key
    ends, parts = zip(starts[1:], key_starts[1:], strict=True), []
    for start, read, (end, to) in zip(starts, key_starts, ends, strict=False):
        some = (query[start:end], key[read:to], value[read:to])
        parts.append(scaled_dot_product_attention(*(rows.transpose(0, 1) for rows in some)).transpose(0, 1))
    return torch.cat(parts)


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """The kernel is there, for whatever has no dropout; tokens of each call."""
    seen: list[int] = []

    def noted(query, *given, **named):
        seen.append(len(query))
        return attention(query, *given, **named)

    monkeypatch.setattr(varlen, "varlen_attn", noted)
    monkeypatch.setattr(packed_layers, "has_kernel", lambda query, dropout: dropout == 0)
    return seen
