"""Texts encoded end to end, without padding, each layer as far as the vectors asked for depend on it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from repro.nn.precision import device, is_small

KINDS = ("bert", "roberta", "xlm-roberta")  # architectures whose layers have BERT's parts under BERT's names
TOKENS = (
    2048  # encoded at a time: what a layer makes of them, 1,536 numbers each, lies in a processor's cache
)
Inputs = dict[str, torch.Tensor]
Stretch = tuple[int, int]  # texts that follow each other, and the tokens that each of them has


def without_padding(encoder: nn.Module) -> Callable[[Inputs], torch.Tensor]:
    """An encoder so that it reads texts end to end: on a CPU, where it is large and built as BERT; or itself.

    A small one, whose vectors are the same bits on any number of cores, stays as the library has it.

    Args:
        encoder: with ``model``, ``pooling`` and ``finished``, as ``repro.nn.encoder.Encoder``.
    """
    if device().type != "cpu" or is_small(encoder) or not can_be_packed(encoder.model):
        return encoder
    texts = PackedTexts(encoder.model, pooling=encoder.pooling)
    return lambda inputs: encoder.finished(texts(inputs))


def can_be_packed(model: nn.Module) -> bool:
    """Whether a transformers model is an encoder with BERT's layers, whose attention sees a whole text."""
    config = model.config
    return config.model_type in KINDS and not config.is_decoder and hasattr(model, "encoder")


class PackedTexts(nn.Module):
    """Token ids to a pooled vector of each text, equal to the padded model's but for rounding.

    Tokens of texts lie end to end, (T, H), so that no layer computes padding, and attention is within each
    text, without a mask. In the last layer the first tokens alone are queries, and pass its feed-forward
    part, where nothing else is pooled. It has no gradient to offer: dropout is left out.

    The vector of a text depends on the others of its batch by rounding only, as products of matrices of
    another height may add up in another order.

    Args:
        model: for which ``can_be_packed`` holds.
        pooling: ``cls``, ``mean``, or ``pooler``: the model's own.
        tokens: encoded at a time; a text that has more is encoded alone.
    """

    def __init__(self, model: nn.Module, *, pooling: str, tokens: int = TOKENS):
        super().__init__()
        self.model, self.pooling, self.tokens = model.eval(), pooling, tokens
        self.heads = model.config.num_attention_heads

    @torch.inference_mode()
    def forward(self, inputs: Inputs) -> torch.Tensor:
        """Model inputs, (N, L) each, ``attention_mask`` among them, padded at the right, to (N, H)."""
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        parts = []
        for first, end in _pieces(lengths, self.tokens):
            rows = {name: values[first:end] for name, values in inputs.items()}
            parts.append(self._piece(rows, lengths[first:end]))
        return torch.cat(parts)  # (N, H)

    def _piece(self, rows: Inputs, lengths: Sequence[int]) -> torch.Tensor:
        stretches = [(len(list(texts)), length) for length, texts in groupby(lengths)]
        hidden = self._embedded(rows)  # (T, H)
        *layers, last = self.model.encoder.layer
        for layer in layers:
            hidden = self._layer(layer, hidden, hidden, stretches)
        if self.pooling == "mean":
            hidden = self._layer(last, hidden, hidden, stretches)
            return torch.stack([text.mean(dim=0) for text in hidden.split(lengths)])  # (n, H)
        firsts = torch.from_numpy(np.cumsum([0, *lengths[:-1]])).to(hidden.device)
        vectors = self._layer(last, hidden[firsts], hidden, stretches)  # (n, H)
        return vectors if self.pooling == "cls" else self.model.pooler(vectors.unsqueeze(1))

    def _embedded(self, rows: Inputs) -> torch.Tensor:
        """The input of the first layer, (T, H), with positions that are counted in each text."""
        ids, kept = rows["input_ids"], rows["attention_mask"].bool()
        kinds, embeddings = rows.get("token_type_ids"), self.model.embeddings
        if self.model.config.model_type == "bert":
            positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        else:  # RoBERTa's begin behind its padding's, and pass over padding that a text itself names
            positions = embeddings.create_position_ids_from_input_ids(ids, embeddings.padding_idx)
        return embeddings(
            input_ids=ids[kept].unsqueeze(0),
            token_type_ids=None if kinds is None else kinds[kept].unsqueeze(0),
            position_ids=positions[kept].unsqueeze(0),
        ).squeeze(0)

    def _layer(
        self, layer: nn.Module, asking: torch.Tensor, hidden: torch.Tensor, stretches: Sequence[Stretch]
    ) -> torch.Tensor:
        """A layer's output at the tokens ``asking``, which are those of ``hidden`` or each text's first."""
        attention = layer.attention.self
        query, key, value = attention.query(asking), attention.key(hidden), attention.value(hidden)
        context = self._attended(query, key, value, stretches)
        return layer.feed_forward_chunk(layer.attention.output(context, asking))

    def _attended(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, stretches: Sequence[Stretch]
    ) -> torch.Tensor:
        """Attention of the queries, (T, H) or one of each text, (n, H), within their texts.

        Texts of one length that follow each other are one call.
        """
        out, at, read = torch.empty_like(query), 0, 0
        for count, length in stretches:
            asked = length if len(query) == len(key) else 1
            given = (
                values[start : start + count * width].view(count, width, self.heads, -1).transpose(1, 2)
                for values, start, width in ((query, at, asked), (key, read, length), (value, read, length))
            )  # (count, heads, width, H / heads)
            some = scaled_dot_product_attention(*given).transpose(1, 2)
            out[at : at + count * asked] = some.reshape(count * asked, -1)
            at, read = at + count * asked, read + count * length
        return out


def _pieces(lengths: Sequence[int], tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts that have so many tokens together at most, or are one text."""
    first, held = 0, 0
    for end, length in enumerate(lengths):
        if end > first and held + length > tokens:
            yield first, end
            first, held = end, 0
        held += length
    yield first, len(lengths)
