"""BERT's layers over texts that lie end to end, (T, H), without padding: attention is within each text."""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

KINDS = ("bert", "roberta", "xlm-roberta")  # architectures whose layers have BERT's parts under BERT's names
HALVES = (torch.float16, torch.bfloat16)
KERNEL_FROM = (8, 0)  # the compute capability of an A100
flash_attention = torch.ops.aten._flash_attention_forward  # torch's ``varlen_attn`` of it leaves dropout out
Inputs = dict[str, torch.Tensor]


def can_be_packed(model: nn.Module) -> bool:
    """Whether a transformers model is an encoder with BERT's layers, whose attention sees a whole text."""
    config = getattr(model, "config", None)
    parts = hasattr(model, "encoder") and hasattr(model, "embeddings")
    is_known = parts and getattr(config, "model_type", None) in KINDS and not config.is_decoder
    return is_known and config.num_hidden_layers > 0


class Layout:
    """The tokens of texts as they lie end to end.

    Args:
        lengths: tokens of each text; empty ones are left out.
        device: of the layers' inputs.

    Attributes:
        stretches: how many texts of one length follow each other, and that length.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device):
        self.lengths, self.device = [length for length in lengths if length], device
        self.stretches = [(len(list(texts)), length) for length, texts in groupby(self.lengths)]

    @cached_property
    def bounds(self) -> torch.Tensor:
        """(n + 1,) int32, where each text begins and the last one ends."""
        sizes = torch.tensor([0, *self.lengths], dtype=torch.int32)
        return sizes.cumsum(0, dtype=torch.int32).to(self.device, non_blocking=True)

    @cached_property
    def firsts(self) -> torch.Tensor:
        """(n + 1,) int32, the bounds of the queries where only the first token of each text asks."""
        return torch.arange(len(self.lengths) + 1, dtype=torch.int32, device=self.device)


def embed(model: nn.Module, inputs: Inputs, places: torch.Tensor) -> torch.Tensor:
    """The input of the first layer, (T, H), with positions that are counted in each text.

    Args:
        inputs: ``input_ids`` and perhaps ``token_type_ids``, (N, L).
        places: (T,) int64, of the tokens that are no padding among the N x L, text by text.
    """
    ids, kinds, embeddings = inputs["input_ids"], inputs.get("token_type_ids"), model.embeddings
    if model.config.model_type == "bert":
        positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    else:  # RoBERTa's begin behind its padding's, and pass over padding that a text itself names
        positions = embeddings.create_position_ids_from_input_ids(ids, embeddings.padding_idx)
    return embeddings(
        input_ids=ids.reshape(-1)[places].unsqueeze(0),
        token_type_ids=None if kinds is None else kinds.reshape(-1)[places].unsqueeze(0),
        position_ids=positions.reshape(-1)[places].unsqueeze(0),
    ).squeeze(0)


def layer_output(
    layer: nn.Module, queries: torch.Tensor, hidden: torch.Tensor, layout: Layout, *, rows: int | None = None
) -> torch.Tensor:
    """A layer's output at the tokens of ``queries``: those of ``hidden``, (T, H), or the first of each text.

    Args:
        rows: that pass the feed-forward part at a time, whose states are the largest; None for all.
    """
    attention = layer.attention.self
    query, key, value = attention.query(queries), attention.key(hidden), attention.value(hidden)
    heads = attention.num_attention_heads
    split = [values.view(len(values), heads, -1) for values in (query, key, value)]  # (T, heads, H / heads)
    dropout = attention.dropout.p if attention.training else 0.0
    attend = by_kernel if has_kernel(split[0]) else text_by_text
    context = attend(*split, layout, dropout).reshape(query.shape)
    states = layer.attention.output(context, queries)
    if rows is None or len(states) <= rows:
        return layer.feed_forward_chunk(states)
    return torch.cat([layer.feed_forward_chunk(part) for part in states.split(rows)])


def has_kernel(query: torch.Tensor) -> bool:
    """Whether one kernel attends within all texts: on a GPU and in half precision.

    It takes heads whose size is a multiple of 8, up to 256.

    Args:
        query: (T, heads, h).
    """
    is_supported = query.is_cuda and query.dtype in HALVES and has_size(query.shape[-1])
    return is_supported and torch.cuda.get_device_capability(query.device) >= KERNEL_FROM


def has_size(head: int) -> bool:
    """Whether the kernel takes heads of so many numbers."""
    return head % 8 == 0 and head <= 256


def by_kernel(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: Layout, dropout: float = 0.0
) -> torch.Tensor:
    """Return what ``text_by_text`` does, from a single kernel for all texts, which drops out other places."""
    longest = max(layout.lengths)
    whole = len(query) == len(key)
    query_bounds, most = (layout.bounds, longest) if whole else (layout.firsts, 1)
    bounds = (query_bounds, layout.bounds, most, longest)
    return flash_attention(query, key, value, *bounds, dropout, False, False)[0]  # not causal, no debugging


def text_by_text(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: Layout, dropout: float = 0.0
) -> torch.Tensor:
    """Attention of queries, (T, heads, h) or one of each text, (n, heads, h), a stretch at a time."""
    sizes = [count * length for count, length in layout.stretches]
    widths = sizes if len(query) == len(key) else [count for count, _ in layout.stretches]
    # split once: the gradient of a slice would be as large as all tokens, for each of them
    pieces = zip(query.split(widths), key.split(sizes), value.split(sizes), strict=True)
    parts = []
    for (count, _), blocks in zip(layout.stretches, pieces, strict=True):
        heads = (block.unflatten(0, (count, -1)).transpose(1, 2) for block in blocks)  # (count, heads, l, h)
        context = scaled_dot_product_attention(*heads, dropout_p=dropout)
        parts.append(context.transpose(1, 2).flatten(0, 1))  # (count x l, heads, h)
    return torch.cat(parts)
