"""Fine-tuning with a similarity that sums views of a text, e.g. a dense and a sparse one."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from repro.errors import check_known
from repro.retrieval.nn import batches, checkpoint, contrastive, objectives
from repro.retrieval.nn.objectives import SIDES
from repro.retrieval.nn.precision import Tensors
from repro.retrieval.nn.view_encoder import ViewEncoder, flops, top_k

DIRECTIONS = ("teacher-student", "student-teacher")


class MultiViewBiEncoder(objectives.RankedTextsLoss):
    """Contrastive training with d, the sum of the views' similarities (as in Wu et al. 2023).

        L_ft         = 1/Q sum_i -log( exp(d(q_i, p_i+)/tau) / sum_p exp(d(q_i, p)/tau) )
        L_ft-distill = 1/Q sum_i KL( softmax(theta_i / T) || softmax(d(q_i, .)/tau) ), over q_i's passages

    The FLOPS regulariser of SPLADE is added for each side's sparse vectors.

    Args:
        top_k: the number of values kept of a sparse vector, or None for all.
        sparse_truncation: {after: ``saturation``, queries, passages}: whether a side is truncated.
        hybrid_similarity, similarity, view_objective: arguments of ``view_similarities()``.
        in_batch_negatives: ``batch`` for passages of all queries, ``own`` for the query's.
        flops_weight: {queries, passages, ramp_steps}: each side's weight, growing with the square of the
            step. With ``shares``, the penalty is the mean over equal shares of the batch.
        flops_vectors: vectors are regularised ``before`` or ``after`` truncation.
        distillation: None, or {direction, contrastive_weight, teacher_temperature}: the order of the
            KL's arguments, the weight of L_ft, and T.
        start: the starting model's directory. A projection of the same shape is trained further.
    """

    encoder: ViewEncoder
    steps: Tensor
    name = "multi-view-contrastive"
    version = 1
    load = staticmethod(checkpoint.load_masked_lm)
    contrasts: ClassVar[Mapping[str, Callable[..., Tensor]]] = {"softmax": functional.cross_entropy}

    def __init__(
        self,
        model: checkpoint.MaskedModel,
        tokenizer: checkpoint.Tokenizer,
        *,
        views: list[str],
        top_k: int | None,
        sparse_truncation: dict,
        sparse_positions: dict,
        vocabulary_head: str,
        dense_reduction: dict | None,
        hybrid_similarity: list[str],
        similarity: str,
        view_objective: str,
        contrastive_denominator: str,
        in_batch_negatives: str,
        temperature: float,
        flops_weight: dict[str, float],
        flops_vectors: str,
        distillation: dict | None,
        query_length: int,
        passage_length: int,
        separator: str,
        start: Path,
    ):
        super().__init__()
        check_known("term of the similarity", *hybrid_similarity, valid=views)
        check_known("denominator", contrastive_denominator, valid=self.contrasts)
        check_known("step before truncation", sparse_truncation["after"], valid=("saturation",))
        if distillation is not None:
            check_known("direction of distillation", distillation["direction"], valid=DIRECTIONS)
        self.encoder = ViewEncoder(
            model,
            tokenizer,
            views=views,
            sparse_positions=sparse_positions,
            vocabulary_head=vocabulary_head,
            dense_reduction=dense_reduction,
        )
        self.encoder.start_from(start)
        self.tokenizer, self.top_k, self.truncation = tokenizer, top_k, dict(sparse_truncation)
        self.terms, self.objective = list(hybrid_similarity), view_objective
        self.similarity, self.temperature = contrastive.check_similarity(similarity), temperature
        self.contrast, self.own = self.contrasts[contrastive_denominator], in_batch_negatives == "own"
        self.flops_weight, self.flops_after = dict(flops_weight), flops_vectors == "after"
        self.distillation = distillation
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def collate(self, examples: list[dict]) -> Tensors:
        batch = super().collate(examples)
        if self.distillation is not None:
            batch["teacher"] = objectives.teacher_scores(examples)
        return batch

    def losses(self, represented: Tensors) -> Tensors:
        if self.training:
            self.steps += 1
        views = self.encoder.views
        whole = {side: {view: represented[f"{side}.{view}"] for view in views} for side in SIDES}
        top_vectors = {side: self.truncated(vectors, side) for side, vectors in whole.items()}
        scores = contrastive.view_similarities(
            top_vectors["queries"],
            top_vectors["passages"],
            terms=self.terms,
            objective=self.objective,
            similarity=self.similarity,
        )
        losses: Tensors = {}
        for suffix, score in scores.items():
            losses |= self.ranking_losses(suffix, score / self.temperature, represented)
        return losses | self.flops_losses(top_vectors if self.flops_after else whole)

    def represent(self, batch: Tensors) -> Tensors:
        rows = {name: batch[name] for name in ("teacher",) if name in batch}
        for side in SIDES:
            rows |= {f"{side}.{view}": vectors for view, vectors in self.encoded(batch, side).items()}
        return rows

    def encoded(self, batch: Tensors, side: str) -> Tensors:
        return self.encoder(batches.side_inputs(batch, SIDES[side]))

    def truncated(self, vectors: Tensors, side: str) -> Tensors:
        if "sparse" not in vectors or self.top_k is None or not self.truncation[side]:
            return vectors
        return vectors | {"sparse": top_k(vectors["sparse"], self.top_k)}

    def ranking_losses(self, suffix: str, scores: Tensor, represented: Tensors) -> Tensors:
        """Return losses, named with ``suffix``, of similarities divided by tau, (Q, Q*P)."""
        losses: Tensors = {}
        rows, weight = contrastive.own_columns(scores), 1.0
        if self.distillation is not None:
            teacher = represented["teacher"] / self.distillation["teacher_temperature"]
            pair = (teacher, rows) if self.distillation["direction"] == "teacher-student" else (rows, teacher)
            losses[f"divergence{suffix}"] = contrastive.divergence(*pair)  # readings: distillation-…
            weight = self.distillation["contrastive_weight"]
        if weight:
            places = torch.arange(len(scores), device=scores.device)
            pool, targets = (rows, torch.zeros_like(places)) if self.own else (scores, places * rows.shape[1])
            losses[f"contrastive{suffix}"] = weight * self.contrast(pool, targets)
        return losses

    def flops_losses(self, vectors: dict[str, Tensors]) -> Tensors:
        """Return ``flops.SIDE``: each side's regulariser, times weight and min(1, step / ramp_steps)^2."""
        if "sparse" not in self.encoder.views:
            return {}
        ramp_steps = self.flops_weight["ramp_steps"]
        ramp = (self.steps / ramp_steps).clamp(max=1.0).square() if ramp_steps else 1.0
        return {
            f"flops.{side}": weight * ramp * self._penalty(vectors[side]["sparse"])
            for side in SIDES
            if (weight := self.flops_weight[side])
        }

    def _penalty(self, sparse: Tensor) -> Tensor:
        shares = sparse.chunk(int(self.flops_weight.get("shares", 1)))
        return reduce(add, map(flops, shares)) / len(shares)

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)
