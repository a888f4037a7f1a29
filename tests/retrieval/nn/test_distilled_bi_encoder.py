import pytest
import torch

from repro.errors import DataError
from repro.retrieval.nn.bi_encoder import DistilledBiEncoder
from repro.retrieval.nn.checkpoint import load_encoder
from repro.retrieval.nn.contrastive import divergence
from tests.floats import close
from tests.retrieval.nn.test_cosine_bi_encoder import EXAMPLES, OPTIONS, objective, side, vectors
from tests.tiny_models import tiny_tokenizer

SCORED = [example | {"scores": [3.0 + n, 0.5, -2.0]} for n, example in enumerate(EXAMPLES)]
DISTILLED = OPTIONS | {"teacher_temperature": 1.0, "student_temperature": 0.02}


def distilled(start, **changes):
    return DistilledBiEncoder(load_encoder(start), tiny_tokenizer(), **DISTILLED | changes)


def test_the_student_learns_the_distribution_over_each_querys_own_passages(start):
    student = distilled(start, teacher_temperature=2.0, student_temperature=0.1)
    batch = student.collate(SCORED)
    queries, passages = (vectors(start, side(batch, name)) for name in ("query_", "passage_"))
    cosines = torch.stack(
        [torch.cosine_similarity(q, own) for q, own in zip(queries, passages.split(3), strict=True)]
    )
    teacher = torch.tensor([example["scores"] for example in SCORED])
    expected = divergence(teacher / 2, cosines / 0.1)
    close(student(batch)["divergence"], expected)


def test_alpha_weighs_the_contrastive_loss_alone(start):
    batch = distilled(start).collate(SCORED)
    one, fifth, none = (distilled(start, weight=weight)(batch) for weight in (1.0, 0.2, 0.0))
    close(fifth["contrastive"], one["contrastive"].item() / 5)
    assert one["contrastive"] == objective(start)(batch)["contrastive"]
    assert fifth["divergence"] == one["divergence"] == none["divergence"]
    assert set(none) == {"divergence"}


def test_both_temperatures_of_the_student_warm_up_in_one_step_each(start):
    student = distilled(start, temperature_warmup=True)
    batch = student.collate(SCORED)
    first = student(batch)["divergence"].item()
    close(first, distilled(start, student_temperature=1.0)(batch)["divergence"])
    assert student.steps == 1 and student(batch)["divergence"].item() != first


def test_examples_without_scores_are_a_data_error(start):
    with pytest.raises(DataError, match="no scores to distil"):
        distilled(start).collate(EXAMPLES)
