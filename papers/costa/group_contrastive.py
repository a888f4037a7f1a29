"""The group-wise contrastive loss (§3.2, Eq. 8)."""

import torch

from repro.retrieval.nn.contrastive import similarities
from repro.retrieval.nn.masked_tokens import places_of
from repro.retrieval.nn.precision import mapped


def group_contrastive(
    z_text: torch.Tensor,
    z_span: torch.Tensor,
    span_mask: torch.Tensor,
    *,
    temperature: float,
    similarity: str,
    reduction: str,
) -> torch.Tensor:
    """Return Eq. 8, the loss that draws a text to the spans of its own group and away from every other text
    and span of the batch.

        L_GWC = sum_i -1/|S(i)| sum_{p in S(i)} log( e(i, p) / sum_{j != i} e(i, j) )
        e(i, j) = exp( sim(z_i, z_j) / tau )

    i runs over the texts only, and j over all N(4T+1) representations except z_i, including the other
    positives. Masked spans and texts without spans do not count. With ``mean``, the sum
    over i is divided by the number of texts with spans (reading ``loss-reduction``).

    Args:
        z_text: (N, H), Eq. 6.
        z_span: (N, S, H), Eq. 7.
        span_mask: (N, S), True where a span exists. At least one must exist.
        temperature: tau.
        similarity: ``dot`` (as printed) or ``cosine``.
        reduction: ``sum`` (as printed) or ``mean``.
    """
    count, spans, _ = z_span.shape
    anchors = mapped(lambda mask: mask.any(dim=1), span_mask)  # (N,)
    to_texts = similarities(z_text, z_text, similarity=similarity) / temperature  # (N, N)
    to_spans = similarities(z_text, z_span.flatten(0, 1), similarity=similarity) / temperature  # (N, N*S)
    own = torch.eye(count, dtype=torch.bool, device=z_text.device)
    others = torch.cat(
        (
            to_texts.masked_fill(own | ~anchors, -torch.inf),
            to_spans.masked_fill(~span_mask.flatten(), -torch.inf),
        ),
        dim=1,
    )  # (N, N + N*S)
    log_denominator = others.logsumexp(dim=1, keepdim=True)  # (N, 1)
    positives = to_spans.view(count, count, spans).diagonal(dim1=0, dim2=1).T  # (N, S)
    losses = (log_denominator - positives).masked_fill(~span_mask, 0.0).sum(dim=1)  # (N,)
    total = (losses / span_mask.sum(dim=1).clamp(min=1))[places_of(anchors)].sum()
    return total if reduction == "sum" else total / anchors.sum()
