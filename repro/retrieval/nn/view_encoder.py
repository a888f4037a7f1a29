"""A text encoder with views of a text, e.g. a dense vector and a sparse one."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from repro.errors import DataError, UsageError, check_known
from repro.machine.bounded_reading import read_json_file
from repro.retrieval.nn import checkpoint, precision

POSITIONS = 4096  # logits of 4,096 positions x 30,522 entries x 4 bytes = 500 MB at once


def max_log_saturated(hidden: Tensor, head: Callable[[Tensor], Tensor], keep: Tensor) -> Tensor:
    """Return s_j = max_i log(1 + ReLU(w_ij)), w_i = head(h_i), over kept positions i (Formal et al. 2021).

    Maps ``hidden``, (B, L, H), and ``keep``, (B, L) bool, to (B, V), in float32 or above. A text without a
    kept position gets zeros.
    """

    def highest(states: Tensor, mask: Tensor) -> Tensor:
        logits = head(states).masked_fill(~mask.unsqueeze(-1), -torch.inf)  # (b, L, V)
        return logits.max(dim=1).values

    step = max(1, POSITIONS // hidden.shape[1])
    blocks = zip(hidden.split(step), keep.split(step), strict=True)
    logits = torch.cat([highest(*block) for block in blocks])  # (B, V)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).relu().log1p()


def sum_log_saturated(logits: Tensor, keep: Tensor) -> Tensor:
    """Return s_j = sum_i log(1 + ReLU(w_ij)) over the kept positions i (Formal et al. 2021, SPLADE).

    Maps (B, L, V) and ``keep``, (B, L) bool, to (B, V), in float32 or above.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return (logits.relu().log1p() * keep.unsqueeze(-1)).sum(dim=1)


def kept_positions(
    input_ids: Tensor, attention_mask: Tensor, *, cls: bool, sep: bool | str, tokenizer
) -> Tensor:
    """Return the positions that count in a sparse vector, (B, L) bool.

    ``cls`` and ``sep``: whether these tokens count. ``sep`` "between" keeps only the one after the title.
    """
    keep = attention_mask.bool()
    if sep == "between":
        places = torch.arange(keep.shape[1], device=keep.device)
        keep = keep & (places < attention_mask.sum(dim=1, keepdim=True) - 1)
    for is_kept, token in ((cls, tokenizer.cls_token_id), (sep, tokenizer.sep_token_id)):
        if not is_kept:
            keep = keep & (input_ids != token)
    return keep


def top_k(values: Tensor, k: int) -> Tensor:
    """Return values, (N, V), with all but each row's k highest set to 0. The lowest index breaks ties."""
    if k >= values.shape[-1]:
        return values
    with torch.no_grad():
        last = values.topk(k, dim=-1).values[:, -1:]
        higher, level = values > last, values == last
        room = k - higher.sum(dim=-1, keepdim=True)
        keep = higher | (level & (level.cumsum(dim=-1) <= room))
    return values.masked_fill(~keep, 0.0)


def flops(vectors: Tensor) -> Tensor:
    """Return sum_j ( 1/N sum_i |w_ij| )^2 of (N, V), SPLADE's regulariser (Paria et al. 2020)."""
    return _MeanMagnitude.apply(vectors).square().sum()


class _MeanMagnitude(torch.autograd.Function):
    @staticmethod
    def forward(ctx, vectors: Tensor) -> Tensor:
        ctx.save_for_backward(vectors)
        return vectors.abs().mean(dim=0)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (vectors,) = ctx.saved_tensors
        return vectors.sign().mul_(gradient / len(vectors))


VIEWS = ("dense", "sparse")
HEADS = ("transform", "plain")
REDUCTIONS = ("linear", "truncate")
FILE, PROJECTION = "views.json", "dense_projection.safetensors"


class ViewEncoder(nn.Module):
    """Maps token ids to a ``dense`` vector, a ``sparse`` one, or both, per text (Wu et al. 2023, Eqs. 3-6).

        DEN = h_0,   w_ij = h_i E_j + b_j,   SPR_j = max_i log(1 + ReLU(w_ij))

    Args:
        sparse_positions: {cls, sep}, of ``kept_positions`` (reading ``sparse-pooling-positions``).
        vocabulary_head: BERT's (``transform``), or without its dense layer and LayerNorm (``plain``)
            (reading ``vocabulary-head``).
        dense_reduction: None, or {to, by}: DEN becomes W DEN with ``to`` components (``linear``), or its
            first ones (``truncate``) (reading ``dense-reduction``).
    """

    def __init__(
        self,
        model: checkpoint.MaskedModel,
        tokenizer: checkpoint.Tokenizer,
        *,
        views: Sequence[str],
        sparse_positions: Mapping[str, Any],
        vocabulary_head: str,
        dense_reduction: Mapping[str, Any] | None,
    ):
        super().__init__()
        if not views:
            raise UsageError(f"no view is given. Known: {', '.join(VIEWS)}")
        check_known("view", *views, valid=VIEWS)
        check_known("vocabulary head", vocabulary_head, valid=HEADS)
        if len(set(views)) < len(views):
            raise UsageError(f"a view is listed twice: {list(views)!r}")
        self.model, self.tokenizer, self.views = model, tokenizer, tuple(views)
        self.positions, self.head = dict(sparse_positions), vocabulary_head
        self.reduction = dense_reduction
        self.projection: nn.Linear | None = None
        if dense_reduction is not None:
            size, width = model.config.hidden_size, dense_reduction["to"]
            check_known("reduction of the dense vector", dense_reduction["by"], valid=REDUCTIONS)
            if not 0 < width <= size:
                raise UsageError(f"a dense vector of {size} numbers cannot be reduced to {width}")
            if dense_reduction["by"] == "linear":
                self.projection = nn.Linear(size, width, bias=False)
                nn.init.normal_(self.projection.weight, std=model.config.initializer_range)

    def forward(self, inputs: precision.Tensors) -> precision.Tensors:
        """Map model inputs, (N, L) each, to ``dense``, (N, H) or (N, to), and ``sparse``, (N, V)."""
        hidden = self.model.base_model(**inputs).last_hidden_state
        vectors = {}
        if "dense" in self.views:
            vectors["dense"] = self._reduce(hidden[:, 0])
        if "sparse" in self.views:
            keep = kept_positions(
                inputs["input_ids"], inputs["attention_mask"], tokenizer=self.tokenizer, **self.positions
            )
            vectors["sparse"] = max_log_saturated(hidden, self.logits, keep)
        return vectors

    def logits(self, hidden: Tensor) -> Tensor:
        if self.head == "transform":
            return self.model.cls(hidden)
        decoder = self.model.cls.predictions.decoder
        return functional.linear(hidden, decoder.weight, decoder.bias)

    def start_from(self, folder: Path) -> None:
        if self.projection is not None and (folder / PROJECTION).exists():
            saved, weight = load_file(folder / PROJECTION)["weight"], self.projection.weight
            if saved.shape == weight.shape:
                weight.data.copy_(saved)

    def save(self, folder: Path) -> None:
        checkpoint.save_model(self.model, self.tokenizer, folder)
        if self.projection is not None:
            save_file({"weight": self.projection.weight.detach().contiguous()}, folder / PROJECTION)
        description = {
            "views": list(self.views),
            "sparse_positions": self.positions,
            "vocabulary_head": self.head,
            "dense_reduction": self.reduction,
        }
        (folder / FILE).write_text(json.dumps(description, sort_keys=True) + "\n", encoding="utf-8")

    def _reduce(self, vectors: Tensor) -> Tensor:
        if self.reduction is None:
            return vectors
        return vectors[:, : self.reduction["to"]] if self.projection is None else self.projection(vectors)


def load_view_encoder(
    folder: Path, *, views: Sequence[str], sparse_positions: Mapping[str, Any], vocabulary_head: str
) -> ViewEncoder:
    """Return the encoder in a model directory, with the dense reduction used in training.

    Raises DataError, or UsageError if it was trained with other settings or without a view.
    """
    settings = {"sparse_positions": dict(sparse_positions), "vocabulary_head": vocabulary_head}
    description: dict[str, Any] = settings | {"views": list(VIEWS), "dense_reduction": None}
    if (folder / FILE).exists():
        description = read_json_file(folder / FILE)
        check_known("view that the model was trained for,", *views, valid=description["views"])
    differences = [name for name in settings if settings[name] != description[name]]
    if differences and "sparse" in views:
        details = ", ".join(f"{name} {description[name]!r}, not {settings[name]!r}" for name in differences)
        raise UsageError(f"{folder}: the model was trained with {details}")
    encoder = ViewEncoder(
        checkpoint.load_masked_lm(folder),
        checkpoint.load_tokenizer(folder),
        views=views,
        sparse_positions=sparse_positions,
        vocabulary_head=vocabulary_head,
        dense_reduction=description["dense_reduction"],
    )
    if encoder.projection is not None and not (folder / PROJECTION).exists():
        raise DataError(f"{folder}: {PROJECTION} is missing, and its dense vectors need it")
    encoder.start_from(folder)
    return encoder
