"""Texts encoded end to end, without padding.

Vectors, losses and gradients are the same, except for dropout.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_outputs import BaseModelOutputWithPooling

from repro.errors import UsageError
from repro.retrieval.nn.checkpoint import TextModel
from repro.retrieval.nn.encoder import Encoder
from repro.retrieval.nn.precision import HALVES, Tensors, device, on_host

if TYPE_CHECKING:
    from transformers.models.bert.modeling_bert import BertLayer

KINDS = ("bert", "roberta", "xlm-roberta")  # layers are named as in BERT
KERNEL_FROM = (8, 0)  # compute capability of an A100
flash_attention = torch.ops.aten._flash_attention_forward  # torch's ``varlen_attn`` has no dropout


def can_be_packed(model: nn.Module) -> TypeGuard[TextModel]:
    """Return whether a model is a bidirectional encoder with BERT's layers."""
    config: Any = getattr(model, "config", None)
    parts = hasattr(model, "encoder") and hasattr(model, "embeddings")
    is_known = parts and getattr(config, "model_type", None) in KINDS and not config.is_decoder
    return is_known and config.num_hidden_layers > 0


class Layout:
    """The arrangement of texts placed end to end, without empty texts.

    ``stretches`` are numbers of texts of one length, e.g. ``[(2, 7), (1, 9)]`` for 7, 7 and 9 tokens.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device):
        self.lengths, self.device = [length for length in lengths if length], device
        self.stretches = [(len(list(texts)), length) for length, texts in groupby(self.lengths)]
        self.longest = max(self.lengths, default=0)

    @cached_property
    def bounds(self) -> Tensor:
        """Each text's start and the last end, (n + 1,) int32."""
        sizes = torch.tensor([0, *self.lengths], dtype=torch.int32)
        return sizes.cumsum(0, dtype=torch.int32).to(self.device, non_blocking=True)

    @cached_property
    def firsts(self) -> Tensor:
        """The bounds of queries if only each text's first token is one, (n + 1,) int32."""
        return torch.arange(len(self.lengths) + 1, dtype=torch.int32, device=self.device)


def embed(model: TextModel, inputs: Tensors, places: Tensor) -> Tensor:
    """Return the first layer's input, (T, H), for tokens at flattened indices ``places``, (T,), of (N, L)."""
    ids, kinds, embeddings = inputs["input_ids"], inputs.get("token_type_ids"), model.embeddings
    if model.config.model_type == "bert":
        positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    else:  # RoBERTa's begin after the padding's
        positions = embeddings.create_position_ids_from_input_ids(ids, embeddings.padding_idx)
    return embeddings(
        input_ids=ids.reshape(-1)[places].unsqueeze(0),
        token_type_ids=None if kinds is None else kinds.reshape(-1)[places].unsqueeze(0),
        position_ids=positions.reshape(-1)[places].unsqueeze(0),
    ).squeeze(0)


def layer_output(
    layer: "BertLayer", queries: Tensor, hidden: Tensor, layout: Layout, *, rows: int | None = None
) -> Tensor:
    """Return a layer's output at ``queries``: all of ``hidden``, (T, H), or each text's first token.

    The feed-forward part computes ``rows`` at a time, None for all.
    """
    attention = layer.attention.self
    query, key, value = attention.query(queries), attention.key(hidden), attention.value(hidden)
    heads = attention.num_attention_heads
    q, k, v = (values.view(len(values), heads, -1) for values in (query, key, value))  # (T, heads, H / heads)
    dropout = attention.dropout.p if attention.training else 0.0
    attend = by_kernel if has_kernel(q) else text_by_text
    context = attend(q, k, v, layout, dropout).reshape(query.shape)
    states = layer.attention.output(context, queries)
    if rows is None or len(states) <= rows:
        return layer.feed_forward_chunk(states)
    return torch.cat([layer.feed_forward_chunk(part) for part in states.split(rows)])


def all_layers(
    model: TextModel, hidden: Tensor, layout: Layout, *, firsts: bool, rows: int | None = None
) -> Tensor:
    """Return the last layer's output, (T, H), or with ``firsts`` each text's first token, (n, H)."""
    *before, last = model.encoder.layer
    for layer in before:
        hidden = layer_output(layer, hidden, hidden, layout, rows=rows)
    queries = hidden[layout.bounds[:-1].long()] if firsts else hidden
    return layer_output(last, queries, hidden, layout, rows=rows)


def has_kernel(query: Tensor) -> bool:
    """Return whether one kernel can compute attention for all texts, given queries (T, heads, h)."""
    is_supported = query.is_cuda and query.dtype in HALVES.values() and _has_size(query.shape[-1])
    return is_supported and torch.cuda.get_device_capability(query.device) >= KERNEL_FROM


def _has_size(head: int) -> bool:
    return head % 8 == 0 and head <= 256


def by_kernel(query: Tensor, key: Tensor, value: Tensor, layout: Layout, dropout: float = 0.0) -> Tensor:
    """Return the attention of ``text_by_text`` from a single kernel."""
    whole = len(query) == len(key)
    query_bounds, most = (layout.bounds, layout.longest) if whole else (layout.firsts, 1)
    bounds = (query_bounds, layout.bounds, most, layout.longest)
    return flash_attention(query, key, value, *bounds, dropout, False, False)[0]  # not causal, no debugging


def text_by_text(query: Tensor, key: Tensor, value: Tensor, layout: Layout, dropout: float = 0.0) -> Tensor:
    """Return attention for all tokens, (T, heads, h), or one per text, (n, heads, h)."""
    sizes = [count * length for count, length in layout.stretches]
    widths = sizes if len(query) == len(key) else [count for count, _ in layout.stretches]
    # the gradient of each slice would be as large as all tokens
    pieces = zip(query.split(widths), key.split(sizes), value.split(sizes), strict=True)
    parts = []
    for (count, _), blocks in zip(layout.stretches, pieces, strict=True):
        q, k, v = (rows.unflatten(0, (count, -1)).transpose(1, 2) for rows in blocks)  # (count, heads, l, h)
        context = scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        parts.append(context.transpose(1, 2).flatten(0, 1))  # (count x l, heads, h)
    return torch.cat(parts)


VARIABLE = "REPRO_PADDING_FREE"
DATACLASS = ("return_dict", True)  # passed by the library's heads


@dataclass
class PaddingFree:
    used: bool = False


@contextlib.contextmanager
def padding_free(objective: nn.Module, wanted: bool) -> Iterator[PaddingFree]:
    """In this context, an objective's models read texts end to end if ``wanted``. Yields whether any did."""
    packing, modules = PaddingFree(), list(objective.modules()) if wanted else []
    cls_models = {part.model for part in modules if isinstance(part, Encoder) and part.pooling == "cls"}
    with contextlib.ExitStack() as stack:
        for model in filter(can_be_packed, modules):
            stack.enter_context(_packed_model(model, packing, firsts=model in cls_models))
        yield packing


@contextlib.contextmanager
def _packed_model(model: TextModel, packing: PaddingFree, *, firsts: bool) -> Iterator[None]:
    library = model.forward

    def forward(input_ids=None, attention_mask=None, token_type_ids=None, **arguments):
        asks_more = any(value is not None for name, value in arguments.items() if (name, value) != DATACLASS)
        if input_ids is None or attention_mask is None or attention_mask.dim() != 2 or asks_more:
            return library(input_ids, attention_mask, token_type_ids, **arguments)
        mask = on_host(attention_mask)
        if not firsts and mask.all():
            return library(input_ids, attention_mask, token_type_ids)
        packing.used = True
        return _states(model, input_ids, mask, token_type_ids, firsts=firsts)

    model.forward = forward
    try:
        yield
    finally:
        del model.forward


def _states(
    model: TextModel, ids: Tensor, mask: Tensor, kinds: Tensor | None, *, firsts: bool
) -> BaseModelOutputWithPooling:
    lengths = mask.sum(dim=1)
    order = lengths.argsort(stable=True)
    numbers = torch.arange(mask.numel()).view(mask.shape)
    places = numbers[order][mask[order].bool()].to(ids.device, non_blocking=True)
    inputs = {"input_ids": ids}
    if kinds is not None:
        inputs["token_type_ids"] = kinds.expand_as(ids)
    hidden, layout = embed(model, inputs, places), Layout(lengths[order].tolist(), ids.device)
    hidden = all_layers(model, hidden, layout, firsts=firsts)
    if firsts:
        places = places[layout.bounds[:-1].long()]
    padded = hidden.new_zeros(mask.numel(), hidden.shape[1]).index_copy(0, places, hidden)
    states = padded.view(*mask.shape, -1)
    pooler = getattr(model, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states, pooler_output=None if pooler is None else pooler(states)
    )


def is_asked_for(environment: Mapping[str, str]) -> bool | None:
    """Return whether REPRO_PADDING_FREE is 1, or None if unset. Raises UsageError unless it is 0 or 1."""
    text = environment.get(VARIABLE)
    if text not in (None, "0", "1"):
        raise UsageError(f"{VARIABLE} is {text!r}, but must be 1 (no padding), 0 (padding) or unset")
    return None if text is None else text == "1"


def trains_faster(objective: nn.Module, precision: str) -> bool:
    processor = device()
    if processor.type == "cpu":
        return any(map(can_be_packed, objective.modules()))
    return not _obstacle(objective, precision, processor)


def packs(model: nn.Module, *, precision: str, say: Callable[[str], None]) -> bool:
    """Return whether a GPU should encode without padding.

    ``say`` gets the reason if REPRO_PADDING_FREE is 1 but it cannot.
    """
    processor, wanted = device(), is_asked_for(os.environ)
    if wanted is False or processor.type == "cpu":
        return False
    obstacle = _obstacle(model, precision, processor)
    if obstacle and wanted:
        say(f"texts are encoded with padding although {VARIABLE} is 1: {obstacle}")
    return not obstacle


def _obstacle(model: nn.Module, precision: str, processor: torch.device) -> str:
    models = [part for part in model.modules() if can_be_packed(part)]
    if not models:
        return "the model is not built as BERT"
    if precision == "fp32":
        return "torch's kernel for texts of several lengths computes in fp16 and bf16, not in fp32"
    if torch.cuda.get_device_capability(processor) < KERNEL_FROM:
        return f"the GPU's compute capability is below {KERNEL_FROM[0]}.{KERNEL_FROM[1]}"
    config = models[0].config
    heads = config.num_attention_heads
    size = config.hidden_size // heads
    if not _has_size(size):
        return f"the kernel needs head sizes that are multiples of 8 up to 256, and the model's is {size}"
    return _fault(processor, HALVES[precision], (heads, size))


def _fault(processor: torch.device, dtype: torch.dtype, shape: tuple[int, int]) -> str:
    layout = Layout([5, 3, 3, 1], processor)
    numbers = torch.linspace(-1, 1, 12 * shape[0] * shape[1], device=processor).sin()
    vectors = numbers.view(-1, *shape).to(dtype)
    try:
        outputs = [by_kernel(query, vectors, vectors, layout) for query in (vectors, vectors[:4])]
    except (ImportError, RuntimeError, ValueError, TypeError) as error:
        return f"torch's kernel cannot be used ({str(error).strip().partition(chr(10))[0]})"
    expected = [text_by_text(query, vectors, vectors, layout) for query in (vectors, vectors[:4])]
    close = all(torch.allclose(*pair, atol=0.02) for pair in zip(outputs, expected, strict=True))
    return "" if close else "torch's kernel computes attention that differs from that of single texts"
