"""A kernel of a CPU in place of torch's for texts of several lengths, which only a GPU has."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from repro.retrieval.nn import padding_free


def attention(
    query, key, value, starts, key_starts, longest, longest_key, dropout, is_causal, is_debugged
) -> tuple[torch.Tensor]:
    assert not is_causal and not is_debugged
    assert starts.dtype == key_starts.dtype == torch.int32 and starts.shape == key_starts.shape
    assert starts.is_contiguous() and key_starts.is_contiguous()
    assert all(rows.dim() == 3 and rows.stride(-1) == 1 for rows in (query, key, value))
    assert starts[-1] == len(query) and key_starts[-1] == len(key) == len(value)
    assert starts.diff().max() == longest and key_starts.diff().max() == longest_key
    ends, parts = zip(starts[1:], key_starts[1:], strict=True), []
    for start, read, (end, to) in zip(starts, key_starts, ends, strict=False):
        some = [rows.transpose(0, 1) for rows in (query[start:end], key[read:to], value[read:to])]
        parts.append(scaled_dot_product_attention(*some, dropout_p=dropout).transpose(0, 1))
    return (torch.cat(parts),)


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    seen: list[int] = []

    def noted(query, *given):
        seen.append(len(query))
        return attention(query, *given)

    monkeypatch.setattr(padding_free, "flash_attention", noted)
    monkeypatch.setattr(padding_free, "has_kernel", lambda query: True)
    return seen
