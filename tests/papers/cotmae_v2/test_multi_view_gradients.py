"""Which gradients reach the embeddings by the projection of words, and which are cut."""

from __future__ import annotations

import pytest
import torch

from tests.floats import close
from tests.papers.cotmae_v2.pretraining import made, rows


@pytest.mark.parametrize("detached", ["projection", "everywhere"])
def test_the_embeddings_get_no_gradient_by_the_projection_and_one_by_the_logits_unless_cut(detached):
    """SPR * E with the hidden states fixed: the gradient of E is that of Eq. 4 and of nothing else."""
    objective = made(detached_embeddings=detached)
    batch = objective.collate(rows())
    matrix = objective.encoder.base_model.embeddings.word_embeddings.weight
    hidden = objective.encode(batch).detach().requires_grad_()
    objective.bottlenecks(hidden, batch)["sparse"].sum().backward()
    assert hidden.grad.any()
    if detached == "everywhere":
        assert matrix.grad is None
        return
    head, expected = objective.encoder.cls.predictions, torch.zeros_like(matrix)
    keep = batch["encoder_attention"].bool() & (batch["encoder_clean"] != 2) & (batch["encoder_clean"] != 3)
    with torch.no_grad():
        states = head.transform(hidden)
        for n in range(len(states)):
            logits = (states[n] @ matrix.T + head.bias).masked_fill(~keep[n].unsqueeze(-1), -torch.inf)
            for j in range(len(matrix)):
                most, place = logits[:, j].max(dim=0)
                if most > 0:
                    expected[j] += matrix[j].sum() / (1 + most) * states[n, place]
    close(matrix.grad, expected)


def test_the_embeddings_learn_from_the_cross_entropies_whatever_is_detached():
    objective = made(detached_embeddings="everywhere")
    objective(objective.collate(rows()))["auto_regressive.sparse"].backward()
    assert objective.encoder.base_model.embeddings.word_embeddings.weight.grad.any()
