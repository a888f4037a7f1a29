"""Eq. 15 as it is printed, for the reading ``contrastive-denominator``."""

from typing import ClassVar

import torch
from torch.nn import functional

from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder


def printed_denominator(scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
    """Return the loss of Eq. 15 as printed, which does not depend on the positive, averaged over the queries.

        -log( exp(d+) / sum_- exp(d+ + d-) )  =  log sum_- exp(d-)

    Args:
        scores: d, (Q, C), already divided by the temperature.
        positives: (Q,), the columns of the positives.
    """
    own = functional.one_hot(positives, scores.shape[1]).bool()
    return scores.masked_fill(own, -torch.inf).logsumexp(dim=1).mean()


class PrintedDenominator(MultiViewBiEncoder):
    """The retriever trained by Eq. 15 as printed (``contrastive_denominator`` ``printed``)."""

    contrasts: ClassVar = {**MultiViewBiEncoder.contrasts, "printed": printed_denominator}
