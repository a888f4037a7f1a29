"""Vectors of texts encoded end to end, without padding."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from repro.retrieval.nn import checkpoint, padding_free
from repro.retrieval.nn.encoder import Encoder
from repro.retrieval.nn.precision import Tensors, device, is_small, on_device

TOKENS = {"cpu": 2048, "cuda": 1 << 20}  # encoded at a time
ROWS = {"cpu": 512, "cuda": None}  # in the feed-forward part


def without_padding(encoder: Encoder, *, gpu: bool = False) -> Callable[[Tensors], Tensor]:
    """Return a function from model inputs on the CPU to vectors, (N, H), on the device.

    It drops padding of BERT-like models if ``gpu``, or on a CPU if they are large. With padding, vectors of
    small models have the same bits on any number of cores.
    """
    on_cpu = device().type == "cpu" and not is_small(encoder)
    if not ((gpu or on_cpu) and padding_free.can_be_packed(encoder.model)):
        return lambda inputs: encoder(on_device(inputs))
    texts = PackedTexts(encoder.model, pooling=encoder.pooling)
    return lambda inputs: encoder.finished(texts(inputs))


class PackedTexts(nn.Module):
    """Maps token ids to a vector per text by ``pooling``, equal to the padded model's except for rounding."""

    def __init__(self, model: checkpoint.TextModel, *, pooling: str):
        super().__init__()
        kind = device().type
        model.eval()
        self.model, self.pooling = model, pooling
        self.tokens, self.rows = TOKENS[kind], ROWS[kind]

    @torch.inference_mode()
    def forward(self, inputs: Tensors) -> Tensor:
        """Map right-padded model inputs on the CPU, (N, L) each, to (N, H)."""
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        parts = []
        for first, end in _token_ranges(lengths, self.tokens):
            rows = {name: values[first:end] for name, values in inputs.items()}
            parts.append(self._piece(rows, lengths[first:end]))
        return torch.cat(parts)

    def _piece(self, rows: Tensors, lengths: Sequence[int]) -> Tensor:
        processor = device()
        places = rows["attention_mask"].reshape(-1).nonzero().squeeze(1).to(processor, non_blocking=True)
        hidden = padding_free.embed(self.model, on_device(rows), places)
        layout, takes_means = padding_free.Layout(lengths, processor), self.pooling == "mean"
        hidden = padding_free.all_layers(self.model, hidden, layout, firsts=not takes_means, rows=self.rows)
        if not takes_means:
            return hidden
        padded = hidden.new_zeros(rows["attention_mask"].numel(), hidden.shape[1])
        texts = padded.index_copy_(0, places, hidden).view(*rows["attention_mask"].shape, -1)
        counts = torch.tensor(lengths).to(processor, non_blocking=True)
        precise = torch.promote_types(hidden.dtype, torch.float32)
        return texts.sum(dim=1, dtype=precise).div_(counts[:, None]).to(hidden.dtype)  # (n, H)


def _token_ranges(lengths: Sequence[int], tokens: int) -> Iterator[tuple[int, int]]:
    first, total = 0, 0
    for end, length in enumerate(lengths):
        if end > first and total + length > tokens:
            yield first, end
            first, total = end, 0
        total += length
    yield first, len(lengths)
