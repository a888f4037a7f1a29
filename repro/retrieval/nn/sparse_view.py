"""Texts as sparse vectors over the vocabulary: how strongly each of its entries is predicted somewhere."""

from collections.abc import Callable

import torch

POSITIONS = 4096  # logits of 4,096 positions x 30,522 entries x 4 bytes = 500 MB at once


def max_log_saturated(
    hidden: torch.Tensor, head: Callable[[torch.Tensor], torch.Tensor], keep: torch.Tensor
) -> torch.Tensor:
    """s_j = max_i log(1 + ReLU(w_ij)), w_i = head(h_i), over the kept positions i (Formal et al. 2021, SPLADE
    with max pooling).

    The maximum is taken first: log(1 + ReLU) keeps the order. Logits are those of a few texts at a time; the
    gradient needs only where the highest are: 1,024 passages of 144 tokens would have 18 GB of them.

    Args:
        hidden: (B, L, H).
        head: (b, L, H) to (b, L, V) logits.
        keep: (B, L), bool. A text without a kept position gets zeros.

    Returns:
        (B, V), in float32 at least, nowhere negative.
    """

    def highest(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits = head(states).masked_fill(~mask.unsqueeze(-1), -torch.inf)  # (b, L, V)
        return logits.max(dim=1).values  # (b, V)

    step = max(1, POSITIONS // hidden.shape[1])
    blocks = zip(hidden.split(step), keep.split(step), strict=True)
    logits = torch.cat([highest(*block) for block in blocks])  # (B, V)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).relu().log1p()


def sum_log_saturated(logits: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """s_j = sum_i log(1 + ReLU(w_ij)) over the kept positions i (Formal et al. 2021, the first SPLADE).

    Args:
        logits: (B, L, V).
        keep: (B, L), bool.

    Returns:
        (B, V), in float32 at least, nowhere negative.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return (logits.relu().log1p() * keep.unsqueeze(-1)).sum(dim=1)


def kept_positions(
    input_ids: torch.Tensor, attention_mask: torch.Tensor, *, cls: bool, sep: bool | str, tokenizer
) -> torch.Tensor:
    """The positions that have a say in a sparse vector: (B, L) each to (B, L), bool.

    Padding, at the right, never has. ``cls`` and ``sep`` say whether those two tokens have, a [SEP] between
    title and text like the last one; with ``sep`` as ``between`` that one has, and the last token has not.
    """
    keep = attention_mask.bool()
    if sep == "between":
        places = torch.arange(keep.shape[1], device=keep.device)
        keep = keep & (places < attention_mask.sum(dim=1, keepdim=True) - 1)
    for is_kept, token in ((cls, tokenizer.cls_token_id), (sep, tokenizer.sep_token_id)):
        if not is_kept:
            keep = keep & (input_ids != token)
    return keep


def top_k(values: torch.Tensor, k: int) -> torch.Tensor:
    """The k highest values of each row, zero elsewhere: (N, V) to (N, V).

    Of values that tie for the last places, those of lowest index stay, so that a row never keeps more than k.
    Where the others go to zero there is no gradient.
    """
    if k >= values.shape[-1]:
        return values
    with torch.no_grad():
        last = values.topk(k, dim=-1).values[:, -1:]  # (N, 1)
        higher, level = values > last, values == last
        room = k - higher.sum(dim=-1, keepdim=True)  # (N, 1)
        keep = higher | (level & (level.cumsum(dim=-1) <= room))
    return values.masked_fill(~keep, 0.0)


def flops(vectors: torch.Tensor) -> torch.Tensor:
    """sum_j ( 1/N sum_i |w_ij| )^2 of (N, V), a scalar: how much work an inverted index of them would make
    (Paria et al. 2020; the regulariser of SPLADE)."""
    return _MeanMagnitude.apply(vectors).square().sum()


class _MeanMagnitude(torch.autograd.Function):
    """1/N sum_i |w_ij|, (N, V) to (V,), whose gradient is the only (N, V) that is made and kept."""

    @staticmethod
    def forward(ctx, vectors: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(vectors)
        return vectors.abs().mean(dim=0)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        (vectors,) = ctx.saved_tensors
        return vectors.sign().mul_(gradient / len(vectors))
