"""Texts encoded end to end, without padding, each layer as far as the vectors asked for depend on it."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import nn

from repro.nn.packed_layers import Inputs, can_be_packed, embedded, layer_output, stretches_of
from repro.nn.precision import device, is_small

TOKENS = (
    2048  # encoded at a time: what a layer makes of them, 1,536 numbers each, lies in a processor's cache
)


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
        stretches = stretches_of(lengths)
        hidden = embedded(self.model, rows, rows["attention_mask"].reshape(-1).nonzero().squeeze(1))  # (T, H)
        *layers, last = self.model.encoder.layer
        for layer in layers:
            hidden = layer_output(layer, hidden, hidden, stretches)
        if self.pooling == "mean":
            hidden = layer_output(last, hidden, hidden, stretches)
            return torch.stack([text.mean(dim=0) for text in hidden.split(lengths)])  # (n, H)
        firsts = torch.from_numpy(np.cumsum([0, *lengths[:-1]])).to(hidden.device)
        vectors = layer_output(last, hidden[firsts], hidden, stretches)  # (n, H)
        return vectors if self.pooling == "cls" else self.model.pooler(vectors.unsqueeze(1))


def _pieces(lengths: Sequence[int], tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts that have so many tokens together at most, or are one text."""
    first, held = 0, 0
    for end, length in enumerate(lengths):
        if end > first and held + length > tokens:
            yield first, end
            first, held = end, 0
        held += length
    yield first, len(lengths)
