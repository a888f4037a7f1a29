"""Losses over the tokens of a batch, by text or by batch (§3.1, Eq. 2)."""

import torch
from torch.nn import functional

from repro.errors import check_known
from repro.retrieval.nn.masked_tokens import Head, places_of, values_at, vocabulary_loss
from repro.retrieval.nn.precision import mapped, on_host

PER = ("batch", "text")


def check_per(per: str | int) -> str | int:
    """Return ``per`` unchanged. Raises UsageError unless it is one of PER or a number of texts above 0."""
    if not isinstance(per, int) or per < 1:
        check_known("mean of token losses", per, valid=PER)
    return per


def predicted(batch: dict[str, torch.Tensor], *, specials: bool) -> torch.Tensor:
    """Return a mask of the positions to predict, (N, L) bool (reading ``token-loss-reduction``): all tokens
    except special ones or, with ``specials``, all except padding."""
    if specials:
        return mapped(torch.Tensor.bool, batch["attention_mask"])
    return mapped(torch.logical_not, batch["special"])


def group_counts(counted: torch.Tensor, *, size: int) -> torch.Tensor:
    """Return the number of counted tokens in each text's group of ``size`` texts: (N, L) to (N,) int64."""
    groups = counted.sum(dim=1).split(size)
    return torch.cat([group.sum().expand(len(group)) for group in groups])


def units(counted: torch.Tensor, *, per: str | int, groups: torch.Tensor | None) -> list[tuple[int, float]]:
    """Return (number of tokens, weight) of each mean that a loss averages. A mean is over consecutive counted
    tokens.

    ``per`` and ``groups`` are as for ``reconstruction``. The weight of a group of texts is the share of its
    tokens that this part of a batch has.
    """
    counts = on_host(counted).sum(dim=1)
    if per == "text":
        return [(count, 1) for count in counts.tolist() if count]
    total = int(counts.sum())
    if per == "batch" or groups is None or not total:
        return [(total, total if per == "batch" else 1)] if total else []
    sizes, texts = on_host(groups).unique_consecutive(return_counts=True)
    own = [int(part.sum()) for part in counts.split(texts.tolist())]
    return [(count, count / size) for count, size in zip(own, sizes.tolist(), strict=True) if count]


def reconstruction(
    hidden: torch.Tensor,
    head: Head,
    tokens: torch.Tensor,
    counted: torch.Tensor,
    *,
    per: str | int,
    groups: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the loss of Eq. 2: -1/|x| sum_i log p(x[i] | x_enc), i over the counted tokens of a text.

    Reading ``token-loss-reduction``: ``text``, the mean of the texts' means, as printed, ``batch``, one mean
    over the tokens of the batch, or a number, the mean of the means over the tokens of this many texts.

    Args:
        hidden: (N, L, H), last hidden states.
        head: (..., H) to (..., V) logits.
        tokens: (N, L), the original tokens.
        counted: (N, L) bool, at least one True. A text without a counted token is left out.
        per: ``batch``, ``text`` or a number of texts.
        groups: ``group_counts`` of these texts in the whole batch, if ``per`` is a number. None means that
            all texts are one group.
    """
    places, means = places_of(counted), units(counted, per=per, groups=groups)
    return average(values_at(hidden, places), head, values_at(tokens, places), means)


def average(
    hidden: torch.Tensor, head: Head, tokens: torch.Tensor, means: list[tuple[int, float]]
) -> torch.Tensor:
    """Return the weighted average of the cross-entropies of M tokens: (M, H) and (M,) to (). ``means`` is the
    result of ``units``."""
    counts, weights = zip(*means, strict=True)
    pairs = zip(hidden.split(counts), tokens.split(counts), strict=True)
    losses = [vocabulary_loss(states, head, words, reduction="mean") for states, words in pairs]
    if len(losses) == 1:
        return losses[0]
    weighted = [loss * weight for loss, weight in zip(losses, weights, strict=True)]
    return torch.stack(weighted).sum() / sum(weights)


def detection(
    scores: torch.Tensor,
    replaced: torch.Tensor,
    counted: torch.Tensor,
    *,
    per: str | int,
    groups: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the loss of detecting replaced tokens, with means as in ``reconstruction``.

    -1/|x| sum_i of r_i log s_i + (1 - r_i) log(1 - s_i) with s = sigmoid(score).

    Args:
        scores: (N, L), any float type. The logarithm is taken in float32 at least.
        replaced: (N, L) bool, r.
        counted: (N, L) bool, at least one True. A text without a counted token is left out.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    losses = functional.binary_cross_entropy_with_logits(
        scores, replaced.to(scores.dtype), reduction="none"
    ).masked_fill(~counted, 0.0)  # (N, L)
    means = units(counted, per=per, groups=groups)
    if per != "text" and len(means) == 1:
        return losses.sum() / counted.sum()
    kept = places_of(mapped(lambda mask: mask.any(dim=1), counted))
    sizes = counted.sum(dim=1) if groups is None else groups
    return (losses.sum(dim=1)[kept] / sizes[kept]).sum() / sum(weight for _, weight in means)


def denominator(counted: torch.Tensor, *, per: str | int, groups: torch.Tensor | None = None) -> float:
    """Return the number of tokens, texts or groups that ``reconstruction`` and ``detection`` average over.
    Those without a counted token are left out. A group that is in several parts of a batch counts by the
    share of its tokens in this part."""
    return sum(weight for _, weight in units(counted, per=per, groups=groups))
