"""Eq. 3 as it is printed, for the retrievers' reading ``contrastive-terms``."""

from typing import ClassVar

import torch
from torch.nn import functional

from repro.retrieval.nn.bi_encoder import CosineBiEncoder, DistilledBiEncoder
from repro.retrieval.nn.contrastive import similarities


def printed_contrastive(
    queries: torch.Tensor, passages: torch.Tensor, *, temperature: float | torch.Tensor
) -> torch.Tensor:
    """Return Eq. 3: each positive competes with the negatives of the query and with those of the positive.

        L = 1/Q sum_i -log( phi(q_i, d_i+) / Z_i ),   phi(a, b) = exp( cos(a, b) / tau )
        Z_i = phi(q_i, d_i+) + sum_{n != d_i+} ( phi(q_i, n) + phi(d_i+, n) )

    n runs over every other passage of the batch. ``queries`` are (Q, H), ``passages`` (Q*P, H): P of each
    query in turn, its positive first. ``temperature`` is tau.
    """
    count, each = len(queries), len(passages) // len(queries)
    targets = torch.arange(count, device=queries.device) * each
    own = functional.one_hot(targets, len(passages)).bool()
    scores, others = (
        similarities(left, passages, similarity="cosine") / temperature
        for left in (queries, passages[::each])
    )  # (Q, Q*P) each
    return functional.cross_entropy(torch.cat((scores, others.masked_fill(own, -torch.inf)), dim=1), targets)


class PrintedContrast(CosineBiEncoder):
    """The retrievers' objective with Eq. 3 as printed if ``terms`` is ``printed``."""

    contrasts: ClassVar = {**CosineBiEncoder.contrasts, "printed": printed_contrastive}


class PrintedDistillation(DistilledBiEncoder):
    """The distilled retriever, trained by Eq. 5 with Eq. 3 as printed."""

    contrasts = PrintedContrast.contrasts
