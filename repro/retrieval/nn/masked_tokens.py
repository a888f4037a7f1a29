"""BERT's token masking (Devlin et al. 2019, Appendix A.1), e.g. of 15 % of tokens, and its loss."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from repro.errors import check_known
from repro.retrieval.nn.precision import HALVES, Tensors, copied, device, is_scarce, on_host
from repro.retrieval.nn.text import frame_texts, side_by_side

IGNORED = -100  # torch's "no label"
CHUNK = 2048  # logits of 2,048 positions x 30,522 tokens x 4 bytes = 250 MB at once
recomputed = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
Head = Callable[[Tensor], Tensor]


def token_cross_entropy(logits: Tensor, labels: Tensor, *, reduction: str) -> Tensor:
    """Return the negative log-likelihood of the labels, in float32 or above.

    ``reduction`` is ``sum``, or ``mean`` over the labels other than IGNORED. ``logits`` are (..., V),
    ``labels`` (...).
    """
    arguments = logits.flatten(0, -2), labels.flatten(), reduction
    return recomputed(_in_float32, *arguments) if logits.dtype in HALVES.values() else _in_float32(*arguments)


def _in_float32(logits: Tensor, labels: Tensor, reduction: str) -> Tensor:
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction=reduction)


def labelled(labels: Tensor) -> Tensor:
    """Return the flattened indices of positions with a label, (M,) int64."""
    return copied(places_of(on_host(labels) != IGNORED), labels.device)


def places_of(mask: Tensor) -> Tensor:
    """Return flattened indices where a mask is true, (M,) int64."""
    return copied(on_host(mask).flatten().nonzero().squeeze(1), mask.device)


def values_at(values: Tensor, places: Tensor) -> Tensor:
    """Return the rows, (M, ...), of (N, L, ...) at flattened indices ``places``."""
    return values.flatten(0, 1)[places]


def divisor(labels: Tensor, *, reduction: str) -> int | None:
    """Return the number of labels for ``mean``, or None for ``sum``."""
    return int((on_host(labels) != IGNORED).sum()) if reduction == "mean" else None


def mlm_loss(rows: Tensors, *, reduction: str) -> Tensors:
    """Return ``{"mlm": loss}`` from the joined results of ``mlm_rows()``, or {} without labels."""
    count = on_host(rows["masked"]).sum() if "masked" in rows else 0
    if not count:
        return {}
    total = rows["mlm"].sum()
    return {"mlm": total / count if reduction == "mean" else total}


def vocabulary_loss(hidden: Tensor, head: Head, labels: Tensor, *, reduction: str) -> Tensor:
    """Return ``token_cross_entropy(head(hidden), labels)`` with little memory.

    ``head`` maps (m, H) to (m, V) without dropout, ``CHUNK`` positions at a time.
    """
    if (fused := fused_loss(hidden)) and (predictions := getattr(head, "predictions", None)):
        last, states = predictions.decoder, predictions.transform(hidden)
        return fused(ignore_index=IGNORED, reduction=reduction)(last.weight, states, labels, last.bias)
    if len(hidden) <= CHUNK:
        return token_cross_entropy(head(hidden), labels, reduction=reduction)

    def total(states: Tensor, targets: Tensor) -> Tensor:
        return token_cross_entropy(head(states), targets, reduction="sum")

    pairs = zip(hidden.split(CHUNK), labels.split(CHUNK), strict=True)
    loss = torch.stack([recomputed(total, *pair) if is_scarce() else total(*pair) for pair in pairs]).sum()
    return loss if reduction == "sum" else loss / (labels != IGNORED).sum()


def fused_loss(hidden: Tensor) -> Callable[..., Callable[..., Tensor]] | None:
    """Return Liger-Kernel's class for last layer and loss, or None if absent or not in bf16 on a GPU."""
    kind = hidden.device.type
    in_bf16 = torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.bfloat16
    if device().type == "cpu" or not in_bf16:  # in fp16 its gradients, which are not scaled, become 0
        return None
    try:
        return import_module("liger_kernel.transformers").LigerFusedLinearCrossEntropyLoss
    except ImportError:
        return None


def mlm_rows(hidden: Tensor, head: Head, labels: Tensor) -> Tensors:
    """Return ``mlm``, the loss summed over labels of (N, L, H), and ``masked``, their number, (1,) each."""
    places = labelled(labels)
    total = vocabulary_loss(values_at(hidden, places), head, values_at(labels, places), reduction="sum")
    return {"mlm": total.view(1), "masked": copied(torch.tensor([len(places)]), labels.device)}


DRAWS = ("each", "count")


class Masking(TypedDict):
    rate: float
    mask: float
    random: float
    draw: NotRequired[str]


def masked_tokens(
    input_ids: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    *,
    special_ids: Sequence[int],
    mask_id: int,
    vocabulary_size: int,
    rate: float,
    mask: float,
    random: float,
    draw: str,
    generators: Sequence[np.random.Generator],
) -> tuple[np.ndarray, np.ndarray]:
    """Return texts with some tokens replaced, (T,), and labels, (T,): the original token, or IGNORED.

    With ``draw`` ``each``, every ordinary token is selected with probability ``rate``, as in transformers'
    DataCollatorForLanguageModeling. With ``count``, max(1, round(rate * length)) tokens of a text are, as in
    BERT's create_pretraining_data (reading ``mlm-draw``). A selected token becomes [MASK] with probability
    ``mask`` and a random one with probability ``random``. ``input_ids``, (T,), are N framed texts end to end,
    of ``lengths`` (N,), with a generator each.
    """
    check_known("draw of masked tokens", draw, valid=DRAWS)
    chances, random_ids = np.empty((2, len(input_ids))), np.empty(len(input_ids), np.int64)
    end = 0
    for generator, length in zip(generators, lengths, strict=True):
        begin, end = end, end + length
        chances[:, begin:end] = generator.random((2, length))
        random_ids[begin:end] = generator.integers(0, vocabulary_size, length)
    ordinary = ~np.isin(input_ids, special_ids)
    if draw == "each":
        selection = (chances[0] < rate) & ordinary
    else:
        selection = _smallest_chances(chances[0], lengths, ordinary, rate=rate)
    fate = chances[1]
    replacements = np.where(fate < mask, mask_id, np.where(fate < mask + random, random_ids, input_ids))
    return np.where(selection, replacements, input_ids), np.where(selection, input_ids, IGNORED)


def _smallest_chances(
    chances: np.ndarray, lengths: Sequence[int] | np.ndarray, ordinary: np.ndarray, *, rate: float
) -> np.ndarray:
    selection, end = np.zeros(len(chances), bool), 0
    for length in lengths:
        begin, end = end, end + length
        places = begin + np.flatnonzero(ordinary[begin:end])
        selection[places[np.argsort(chances[places])[: max(1, round(rate * int(length)))]]] = True
    return selection


def masked_texts(
    texts: Sequence[np.ndarray], *, tokenizer, generators: Sequence[np.random.Generator], **shares: Any
) -> Tensors:
    """Return N texts framed by [CLS] and [SEP], original and masked by ``masked_tokens()``.

    Keys are ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask``, (N, L) int64.
    """
    clean, lengths = frame_texts(texts, tokenizer)
    masked, labels = masked_tokens(
        clean,
        lengths,
        special_ids=tokenizer.all_special_ids,
        mask_id=tokenizer.mask_token_id,
        vocabulary_size=len(tokenizer),
        generators=generators,
        **shares,
    )
    pad = tokenizer.pad_token_id
    columns = {"clean_ids": (clean, pad), "masked_ids": (masked, pad), "labels": (labels, IGNORED)}
    return side_by_side(columns, lengths)
