"""Which way gradients go from the decoders to the encoder, and which way none goes."""

from __future__ import annotations

import pytest
import torch

from tests.floats import close
from tests.papers.cotmae_v2.pretraining import made, rows


def encoder_states(objective):
    """Where the encoder's last hidden states are kept, with their gradient."""
    kept = []
    objective.encoder.bert.encoder.register_forward_hook(
        lambda module, given, out: out.last_hidden_state.retain_grad() or kept.append(out.last_hidden_state)
    )
    return kept


@pytest.mark.parametrize("slot", ["replace", "prepend"])
@pytest.mark.parametrize("name", ["auto_encoding", "auto_regressive"])
def test_a_decoder_reaches_the_encoder_by_the_dense_vector_only(name, slot):
    objective = made(bottleneck_slot=slot)
    kept, batch = encoder_states(objective), objective.collate(rows())
    objective(batch)[f"{name}.dense"].backward()
    assert (kept[0].grad[:, 1:] == 0).all() and kept[0].grad[:, 0].any(dim=-1).all()


@pytest.mark.parametrize("name", ["auto_encoding", "auto_regressive"])
def test_a_decoder_reaches_the_encoder_by_the_words_maxima_only(name):
    objective = made()
    kept, batch = encoder_states(objective), objective.collate(rows())
    objective(batch)[f"{name}.sparse"].backward()
    gradient, words = kept[0].grad, batch["encoder_attention"].bool()
    words &= (batch["encoder_clean"] != 3) & (batch["encoder_clean"] != 2)
    assert (gradient[~words] == 0).all() and gradient[words].any()
    logits = objective.logits(kept[0]).masked_fill(~words.unsqueeze(-1), -torch.inf)
    best = torch.zeros_like(words)
    for n in range(len(best)):
        best[n, logits[n].argmax(dim=0)[logits[n].amax(dim=0) > 0]] = True
    assert (gradient[~best] == 0).all()


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
