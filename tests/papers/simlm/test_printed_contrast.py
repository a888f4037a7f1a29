from __future__ import annotations

import math

import pytest
import torch

from papers.simlm.printed_contrast import PrintedContrast, PrintedDistillation, printed_contrastive
from repro.retrieval.nn.bi_encoder import CosineBiEncoder, DistilledBiEncoder
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COSINES
from tests.retrieval.nn.test_contrastive import drawn, phi
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


def equation(queries, passages, *, temperature):
    queries, passages = queries.tolist(), passages.tolist()
    each, total = len(passages) // len(queries), 0.0
    for i, query in enumerate(queries):
        positive, denominator = passages[i * each], sum(phi(query, p, temperature) for p in passages)
        denominator += sum(phi(positive, p, temperature) for n, p in enumerate(passages) if n != i * each)
        total -= math.log(phi(query, positive, temperature) / denominator)
    return total / len(queries)


@pytest.mark.parametrize(("q", "p"), [(4, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_the_loss_is_the_equation_written_as_loops(q, p, temperature):
    queries, passages = drawn(q, p)
    loss = printed_contrastive(queries, passages, temperature=temperature)
    close(loss, equation(queries, passages, temperature=temperature))


def test_a_positive_pushes_hard_negatives_away():
    """Dimensions 3 and 4 are the positives' alone: along them only a positive can push."""
    queries, passages = drawn(q=4, p=3)
    queries[:, 3:] = 0
    negative = torch.arange(12) % 3 != 0
    passages[negative, 3:] = 0
    passages.requires_grad_()
    printed_contrastive(queries, passages, temperature=0.5).backward()
    assert (passages.grad[negative] != 0).all()


@pytest.mark.parametrize(
    ("kind", "usual"), [(PrintedContrast, CosineBiEncoder), (PrintedDistillation, DistilledBiEncoder)]
)
def test_a_retriever_takes_the_printed_loss_and_is_the_same_objective_to_a_fingerprint(kind, usual):
    assert (kind.name, kind.version) == (usual.name, usual.version)
    teacher = {"teacher_temperature": 1.0, "student_temperature": 1.0}
    options = COSINES | (teacher if usual is DistilledBiEncoder else {})
    made = kind(tiny_masked_lm().base_model, tiny_tokenizer(), terms="printed", **options)
    queries, passages = drawn()
    expected = COSINES["weight"] * printed_contrastive(queries, passages, temperature=COSINES["temperature"])
    close(made.contrastive(queries, passages), expected)
