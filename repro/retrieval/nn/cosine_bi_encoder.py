"""Fine-tuning of one encoder for queries and passages by a contrastive loss on their cosines."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import ClassVar

import torch

from repro.errors import UsageError, check_known
from repro.retrieval.nn.architectures import TextModel, Tokenizer
from repro.retrieval.nn.checkpoint import load_encoder, save_model
from repro.retrieval.nn.contrastive import four_block_contrastive, in_batch_contrastive
from repro.retrieval.nn.encoder import check_pooling, pooled
from repro.retrieval.nn.objectives import RankedTextsLoss


class CosineBiEncoder(RankedTextsLoss):
    """A query's positive closer to it than all else in the batch, by cosine over a temperature.

    One encoder for both sides. Where several processes train together, each sees the passages of all.

    Args:
        model: a transformers encoder without heads.
        tokenizer: its tokenizer.
        temperature: tau.
        temperature_warmup: whether 1/tau grows with the step, over the steps of the learning rate's warm-up,
            from 1 to its value (reading ``nq-temperature-warmup``).
        terms: what a positive stands beside, of ``contrasts``: ``four-blocks``, or what is similar to the
            ``query`` alone (reading ``contrastive-terms``).
        shares: parts of a batch whose texts do not meet; 1, or the number of devices of a training without
            negatives across devices (reading ``cross-device-negatives``).
        weight: of the loss. A training over R processes that does not multiply its loss by R has 1/R here
            (reading ``nq-loss-scale``).
        pooling: ``cls`` or ``mean``.
        query_length, passage_length: in tokens, with [CLS] and [SEP].
        separator: between title and text, or ``pair``.
        warmup_steps: of the learning rate.
    """

    model: TextModel
    steps: torch.Tensor  # that were made
    name = "cosine-contrastive"
    version = 1
    load = staticmethod(load_encoder)
    contrasts: ClassVar[Mapping[str, Callable[..., torch.Tensor]]] = {
        "four-blocks": four_block_contrastive,
        "query": partial(in_batch_contrastive, similarity="cosine"),
    }

    def __init__(
        self,
        model: TextModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        temperature_warmup: bool,
        terms: str,
        shares: int,
        weight: float,
        pooling: str,
        query_length: int,
        passage_length: int,
        separator: str,
        warmup_steps: int,
    ):
        super().__init__()
        if shares < 1:
            raise UsageError(f"a batch cannot be cut into {shares} shares; give 1 or more")
        self.model, self.tokenizer, self.pooling = model, tokenizer, check_pooling(pooling)
        self.temperature, self.temperature_warmup = temperature, temperature_warmup
        check_known("terms of the contrastive loss", terms, valid=self.contrasts)
        self.terms, self.shares, self.weight = terms, shares, weight
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator
        self.warmup_steps = warmup_steps
        # saved with a checkpoint, so that a resumed training goes on from it
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def losses(self, represented: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The one loss, ``contrastive``, of vectors as ``represent`` names them. One more step is done."""
        losses = {"contrastive": self.contrastive(represented["queries"], represented["passages"])}
        self.count_step()
        return losses

    def contrastive(self, queries: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
        """The weighted loss of a whole batch: (Q, H), (Q*P, H) to a scalar."""
        size = -(-len(queries) // self.shares)  # queries in a share; the last of an epoch may have fewer
        per_query = len(passages) // len(queries)
        temperature = self.warmed(self.temperature)
        losses = []
        for first in range(0, len(queries), size):
            query_share = queries[first : first + size]
            passage_share = passages[first * per_query : (first + size) * per_query]
            loss = self.contrasts[self.terms](query_share, passage_share, temperature=temperature)
            losses.append(loss * (len(query_share) / len(queries)))
        return self.weight * reduce(add, losses)

    def warmed(self, temperature: float) -> float | torch.Tensor:
        """A temperature as it is at this step: 1 / max(1, min(1, steps / warmup_steps) / temperature)."""
        if not self.temperature_warmup:
            return temperature
        share = (self.steps / max(1, self.warmup_steps)).clamp(max=1.0)
        return 1 / (share / temperature).clamp(min=1.0)

    def count_step(self) -> None:
        """One more step is done, unless this is no training."""
        if self.training:
            self.steps += 1

    def encoder(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Model inputs, (N, L) each, to (N, H)."""
        hidden = self.model(**inputs).last_hidden_state  # (N, L, H)
        return pooled(hidden, inputs["attention_mask"], pooling=self.pooling)

    def save(self, folder: Path) -> None:
        """The encoder and its tokenizer."""
        save_model(self.model, self.tokenizer, folder)
