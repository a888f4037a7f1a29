"""Fine-tuning of one encoder for queries and passages by a re-ranker's scores."""

import torch

from repro.retrieval.nn.architectures import TextModel, Tokenizer
from repro.retrieval.nn.contrastive import divergence, own_scores
from repro.retrieval.nn.cosine_bi_encoder import CosineBiEncoder
from repro.retrieval.nn.objectives import teacher_scores


class DistilledBiEncoder(CosineBiEncoder):
    """L = L_kl + ``weight`` L_cont: the re-ranker's distribution over a query's own passages, and the labels
    (Wang et al. 2023, Eq. 5).

        L_kl = 1/Q sum_i KL( softmax(theta_i / T) || softmax(cos_i / tau_s) )

    theta_i are the re-ranker's logits and cos_i the cosines of a query's P passages. L_cont is the loss of
    ``CosineBiEncoder``, hard negatives included.

    Args:
        teacher_temperature: T (reading ``teacher-scores``).
        student_temperature: tau_s, warmed up along with tau where that is.
        weight: alpha (readings ``distillation-weight``, ``nq-distillation``, ``nq-loss-scale``).
        the others: of ``CosineBiEncoder``.
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

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """The arrays of ``ranked_texts``, and ``teacher``, of ``teacher_scores``."""
        return super().collate(examples) | {"teacher": teacher_scores(examples)}

    def represent(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The vectors of ``CosineBiEncoder.represent``, and ``teacher``."""
        return super().represent(batch) | {"teacher": batch["teacher"]}

    def losses(self, represented: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The losses ``divergence`` and ``contrastive``; without the latter where its weight is 0. One more
        step is done."""
        queries, passages, teacher = (represented[name] for name in ("queries", "passages", "teacher"))
        cosines = own_scores(queries, passages, similarity="cosine")  # (Q, P)
        losses = {
            "divergence": divergence(
                teacher / self.teacher_temperature, cosines / self.warmed(self.student_temperature)
            )
        }
        if self.weight:
            losses["contrastive"] = self.contrastive(queries, passages)
        self.count_step()
        return losses
