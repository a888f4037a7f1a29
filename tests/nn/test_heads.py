from __future__ import annotations

import copy

import pytest
import torch

from repro.errors import UsageError
from repro.nn.heads import with_head
from tests.tiny_models import tiny_masked_lm


def test_the_checkpoints_own_head_is_left_alone():
    model = tiny_masked_lm()
    before = copy.deepcopy(model.state_dict())
    kept = with_head(model, "checkpoint")
    assert all(torch.equal(before[name], value) for name, value in kept.state_dict().items())


def test_a_new_head_leaves_the_encoder_and_the_shared_embeddings_alone():
    model = tiny_masked_lm()
    with torch.no_grad():
        model.cls.predictions.bias.fill_(3.0)
        model.cls.predictions.transform.LayerNorm.weight.fill_(3.0)
    before = copy.deepcopy(model.state_dict())
    torch.manual_seed(5)
    after = with_head(model, "new").state_dict()
    changed = {name for name, value in after.items() if not torch.equal(before[name], value)}
    assert changed and all(name.startswith("cls.predictions") for name in changed)
    assert "cls.predictions.decoder.weight" not in changed  # the embeddings
    assert not after["cls.predictions.bias"].any()
    assert (after["cls.predictions.transform.LayerNorm.weight"] == 1).all()
    dense = after["cls.predictions.transform.dense.weight"]
    assert dense.std().item() == pytest.approx(model.config.initializer_range, rel=0.2)


def test_an_unknown_start_is_a_usage_error():
    with pytest.raises(UsageError, match="'random'"):
        with_head(tiny_masked_lm(), "random")
