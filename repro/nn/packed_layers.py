"""BERT's layers over texts that lie end to end, (T, H), without padding: attention is within each text."""

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

KINDS = ("bert", "roberta", "xlm-roberta")  # architectures whose layers have BERT's parts under BERT's names
HALVES = (torch.float16, torch.bfloat16)
KERNEL_FROM = (8, 0)  # the compute capability of an A100
Inputs = dict[str, torch.Tensor]
Stretch = tuple[int, int]  # texts that follow each other, and the tokens that each of them has


def can_be_packed(model: nn.Module) -> bool:
    """Whether a transformers model is an encoder with BERT's layers, whose attention sees a whole text."""
    config = getattr(model, "config", None)
    parts = hasattr(model, "encoder") and hasattr(model, "embeddings")
    known = parts and getattr(config, "model_type", None) in KINDS and not config.is_decoder
    return known and config.num_hidden_layers > 0


def stretches_of(lengths: Sequence[int]) -> list[Stretch]:
    """Texts of one length that follow each other, for which attention is one call; none for empty ones."""
    return [(len(list(texts)), length) for length, texts in groupby(lengths) if length]


def embedded(model: nn.Module, inputs: Inputs, places: torch.Tensor) -> torch.Tensor:
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
    layer: nn.Module, asking: torch.Tensor, hidden: torch.Tensor, stretches: Sequence[Stretch]
) -> torch.Tensor:
    """A layer's output at the tokens ``asking``: those of ``hidden``, (T, H), or the first of each text."""
    attention = layer.attention.self
    query, key, value = attention.query(asking), attention.key(hidden), attention.value(hidden)
    heads = attention.num_attention_heads
    split = (values.view(len(values), heads, -1) for values in (query, key, value))  # (T, heads, H / heads)
    dropout = attention.dropout.p if attention.training else 0.0
    attended = _by_kernel if has_kernel(query, dropout) else _text_by_text
    context = attended(*split, stretches, dropout).reshape(query.shape)
    return layer.feed_forward_chunk(layer.attention.output(context, asking))


def has_kernel(query: torch.Tensor, dropout: float) -> bool:
    """Whether one kernel attends within all texts: on a GPU, in half precision, and without dropout.

    ``torch.nn.attention.varlen`` leaves dropout out, whatever a model says, so that a training with dropout
    of attention never gets there. The operations of the kernel are not among those that
    ``repro.training.flop_count`` counts.
    """
    fits = query.is_cuda and query.dtype in HALVES and dropout == 0
    return fits and torch.cuda.get_device_capability(query.device) >= KERNEL_FROM


def _by_kernel(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, stretches: Sequence[Stretch], dropout: float
) -> torch.Tensor:
    from torch.nn.attention.varlen import varlen_attn

    lengths = [length for count, length in stretches for _ in range(count)]
    asked = lengths if len(query) == len(key) else [1] * len(lengths)
    bounds = (
        torch.tensor([0, *some], device=query.device).cumsum(0, dtype=torch.int32)
        for some in (asked, lengths)
    )
    return varlen_attn(query, key, value, *bounds, max(asked), max(lengths))


def _text_by_text(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, stretches: Sequence[Stretch], dropout: float
) -> torch.Tensor:
    """Attention of queries, (T, heads, h) or one of each text, (n, heads, h), a stretch at a time."""
    parts, at, read = [], 0, 0
    for count, length in stretches:
        asked = length if len(query) == len(key) else 1
        given = (
            values[start : start + count * width].unflatten(0, (count, width)).transpose(1, 2)
            for values, start, width in ((query, at, asked), (key, read, length), (value, read, length))
        )  # (count, heads, width, h)
        some = scaled_dot_product_attention(*given, dropout_p=dropout)
        parts.append(some.transpose(1, 2).flatten(0, 1))  # (count x asked, heads, h)
        at, read = at + count * asked, read + count * length
    return torch.cat(parts)
