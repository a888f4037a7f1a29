"""Losses over the tokens of a batch, by text or by batch (§3.1, Eq. 2)."""

from collections.abc import Callable

import torch
from torch.nn import functional

from repro.errors import check_known
from repro.retrieval.nn.masked_tokens import CHUNK, chunked_token_cross_entropy, places_of, values_at

PER = ("batch", "text")


def check_per(per: str | int) -> str | int:
    """Return ``per`` unchanged. Raises UsageError unless it is one of PER or a number of texts above 0."""
    if not isinstance(per, int) or per < 1:
        check_known("mean of token losses", per, valid=PER)
    return per


def predicted(batch: dict[str, torch.Tensor], *, specials: bool) -> torch.Tensor:
    """Return a mask of the positions to predict, (N, L) bool (reading ``token-loss-reduction``): all tokens
    except special ones or, with ``specials``, all except padding."""
    return batch["attention_mask"].bool() if specials else ~batch["special"]


def reconstruction(
    hidden: torch.Tensor,
    head: Callable[[torch.Tensor], torch.Tensor],
    tokens: torch.Tensor,
    counted: torch.Tensor,
    *,
    per: str | int,
) -> torch.Tensor:
    """Return the loss of Eq. 2: -1/|x| sum_i log p(x[i] | x_enc), i over the counted tokens of a text.

    Reading ``token-loss-reduction``: ``text``, the mean of the texts' means, as printed, ``batch``, one mean
    over the tokens of the batch, or a number, one mean over the tokens of this many texts, which are the
    input here and are averaged with ``denominator``. Logits exist for a chunk of positions at a time.

    Args:
        hidden: (N, L, H), last hidden states.
        head: (..., H) to (..., V) logits.
        tokens: (N, L), the original tokens.
        counted: (N, L) bool, at least one True. A text without a counted token is left out.
        per: ``batch``, ``text`` or a number of texts.
    """
    places = places_of(counted)
    hidden, tokens = values_at(hidden, places), values_at(tokens, places)
    if per != "text":
        return _mean(hidden, head, tokens)
    counts = [count for count in counted.sum(dim=1).tolist() if count]
    texts = zip(hidden.split(counts), tokens.split(counts), strict=True)
    return torch.stack([_mean(states, head, text) for states, text in texts]).mean()


def detection(
    scores: torch.Tensor, replaced: torch.Tensor, counted: torch.Tensor, *, per: str | int
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
    if per != "text":
        return losses.sum() / counted.sum()
    kept = counted.any(dim=1)
    return (losses.sum(dim=1)[kept] / counted.sum(dim=1)[kept]).mean()


def denominator(counted: torch.Tensor, *, per: str | int) -> int:
    """Return the number of units that ``reconstruction`` and ``detection`` average: counted tokens, or texts
    with any. If ``per`` is a number of texts, it is 1 for a part with counted tokens and 0 otherwise.

    Args:
        counted: (N, L) bool.
        per: ``batch``, ``text`` or a number of texts.
    """
    if isinstance(per, int):
        return int(counted.any())
    return int((counted if per == "batch" else counted.any(dim=1)).sum())


def _mean(hidden: torch.Tensor, head, tokens: torch.Tensor) -> torch.Tensor:
    return chunked_token_cross_entropy(hidden, head, tokens, reduction="mean", chunk=CHUNK)
