"""Fine-tuning of one encoder for queries and passages."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from repro.errors import UsageError, check_known
from repro.retrieval.nn import contrastive, objectives
from repro.retrieval.nn.checkpoint import TextModel, Tokenizer, load_encoder, save_model
from repro.retrieval.nn.encoder import PROJECTORS, Encoder, Projector, check_pooling, pooled, saved_projector
from repro.retrieval.nn.precision import Tensors

PROJECTOR_STARTS = ("pre-trained", "new")


class BiEncoderContrastive(objectives.RankedTextsLoss):
    """Contrastive loss with one encoder for queries and passages.

    ``projector_start`` is ``new``, or ``pre-trained`` with weights from ``start``, the starting model's
    directory. A saved projector of this architecture that encodes texts is trained further in either case.
    """

    encoder: Encoder
    name = "contrastive"
    version = 1
    load = staticmethod(load_encoder)

    def __init__(
        self,
        model: TextModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        similarity: str,
        negatives: str,
        projector: str,
        projector_start: str,
        pooling: str,
        query_length: int,
        passage_length: int,
        separator: str,
        start: Path,
    ):
        super().__init__()
        check_known("projector start", projector_start, valid=PROJECTOR_STARTS)
        check_known("projector", projector, valid=PROJECTORS)  # here for a plan to read it
        head = Projector.of(model.config, projector)
        saved, encodes = saved_projector(start) or (None, False)
        may_continue = encodes or projector_start == "pre-trained"
        if may_continue and saved is not None and saved.architecture == projector:
            head = saved
        self.encoder = Encoder(model, pooling=pooling, projector=head)
        self.tokenizer = tokenizer
        self.temperature, self.similarity = temperature, contrastive.check_similarity(similarity)
        check_known("treatment of negatives", negatives, valid=contrastive.NEGATIVES)
        self.negatives = negatives
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator

    def losses(self, represented: Tensors) -> Tensors:
        loss = contrastive.contrastive(
            represented["queries"],
            represented["passages"],
            negatives=self.negatives,
            temperature=self.temperature,
            similarity=self.similarity,
        )
        return {"contrastive": loss}

    def save(self, folder: Path) -> None:
        save_model(self.encoder.model, self.tokenizer, folder)
        if self.encoder.projector is not None:
            self.encoder.projector.save(folder, encodes=True)


class CosineBiEncoder(objectives.RankedTextsLoss):
    """Contrastive loss of cosines divided by a temperature, over the batch of all processes.

    Args:
        temperature_warmup: whether 1/tau grows from 1 over ``warmup_steps`` (reading
            ``nq-temperature-warmup``).
        terms: a key of ``contrasts``, the similarities in the denominator (reading ``contrastive-terms``).
        shares: number of parts with separate negatives (reading ``cross-device-negatives``).
        weight: the factor of the loss, e.g. 1/R for R processes (reading ``nq-loss-scale``).
    """

    model: TextModel
    steps: Tensor  # saved with a checkpoint
    name = "cosine-contrastive"
    version = 1
    load = staticmethod(load_encoder)
    contrasts: ClassVar[Mapping[str, Callable[..., Tensor]]] = {
        "four-blocks": contrastive.four_block_contrastive,
        "query": partial(contrastive.in_batch_contrastive, similarity="cosine"),
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
            raise UsageError(f"shares is {shares}, and has to be at least 1")
        self.model, self.tokenizer, self.pooling = model, tokenizer, check_pooling(pooling)
        self.temperature, self.temperature_warmup = temperature, temperature_warmup
        check_known("terms of the contrastive loss", terms, valid=self.contrasts)
        self.terms, self.shares, self.weight = terms, shares, weight
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator
        self.warmup_steps = warmup_steps
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def losses(self, represented: Tensors) -> Tensors:
        losses = {"contrastive": self.contrastive(represented["queries"], represented["passages"])}
        self.count_step()
        return losses

    def contrastive(self, queries: Tensor, passages: Tensor) -> Tensor:
        """Return the weighted loss of a whole batch: (Q, H), (Q*P, H) to a scalar."""
        size = -(-len(queries) // self.shares)  # queries per share
        per_query = len(passages) // len(queries)
        temperature = self.warmed(self.temperature)
        losses = []
        for first in range(0, len(queries), size):
            query_share = queries[first : first + size]
            passage_share = passages[first * per_query : (first + size) * per_query]
            loss = self.contrasts[self.terms](query_share, passage_share, temperature=temperature)
            losses.append(loss * (len(query_share) / len(queries)))
        return self.weight * reduce(add, losses)

    def warmed(self, temperature: float) -> float | Tensor:
        """Return ``temperature``, or in a warm-up 1 / max(1, min(1, steps / warmup_steps) / temperature)."""
        if not self.temperature_warmup:
            return temperature
        share = (self.steps / max(1, self.warmup_steps)).clamp(max=1.0)
        return 1 / (share / temperature).clamp(min=1.0)

    def count_step(self) -> None:
        if self.training:
            self.steps += 1

    def encoder(self, inputs: Tensors) -> Tensor:
        hidden = self.model(**inputs).last_hidden_state
        return pooled(hidden, inputs["attention_mask"], pooling=self.pooling)

    def save(self, folder: Path) -> None:
        save_model(self.model, self.tokenizer, folder)


class DistilledBiEncoder(CosineBiEncoder):
    """L = L_kl + ``weight`` L_cont, from a re-ranker's scores and from labels (Wang et al. 2023, Eq. 5).

        L_kl = 1/Q sum_i KL( softmax(theta_i / T) || softmax(cos_i / tau_s) )

    theta_i are the re-ranker's logits, cos_i the cosines of a query's passages and T is
    ``teacher_temperature`` (reading ``teacher-scores``). tau_s, ``student_temperature``, is warmed up if tau
    is. L_cont is the loss of ``CosineBiEncoder`` (readings ``distillation-weight``, ``nq-distillation``,
    ``nq-loss-scale``).
    """

    name = "distillation"
    version = 1

    def __init__(
        self,
        model: TextModel,
        tokenizer: Tokenizer,
        *,
        teacher_temperature: float,
        student_temperature: float,
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
        super().__init__(
            model,
            tokenizer,
            temperature=temperature,
            temperature_warmup=temperature_warmup,
            terms=terms,
            shares=shares,
            weight=weight,
            pooling=pooling,
            query_length=query_length,
            passage_length=passage_length,
            separator=separator,
            warmup_steps=warmup_steps,
        )
        self.teacher_temperature, self.student_temperature = teacher_temperature, student_temperature

    def collate(self, examples: list[dict]) -> Tensors:
        return super().collate(examples) | {"teacher": objectives.teacher_scores(examples)}

    def represent(self, batch: Tensors) -> Tensors:
        return super().represent(batch) | {"teacher": batch["teacher"]}

    def losses(self, represented: Tensors) -> Tensors:
        queries, passages, teacher = (represented[name] for name in ("queries", "passages", "teacher"))
        cosines = contrastive.own_scores(queries, passages, similarity="cosine")
        losses = {
            "divergence": contrastive.divergence(
                teacher / self.teacher_temperature, cosines / self.warmed(self.student_temperature)
            )
        }
        if self.weight:
            losses["contrastive"] = self.contrastive(queries, passages)
        self.count_step()
        return losses
