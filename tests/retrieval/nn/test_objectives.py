from __future__ import annotations

import copy

import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.objectives import set_dropout, with_head
from tests.floats import apart, close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


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


def encoded(model):
    batch = tiny_tokenizer()(["the river and the old bridge of stone"] * 2, return_tensors="pt")
    return model.base_model(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state


def test_a_model_without_dropout_gets_one_that_acts_in_training_only():
    model = tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.1)
    model.train()
    first, second = encoded(model)
    apart(first, second)
    model.eval()
    first, second = encoded(model)
    close(first, second)
    assert model.config.hidden_dropout_prob == 0.0


def test_no_dropout_makes_two_passes_equal():
    model = tiny_masked_lm(dropout=0.3)
    set_dropout(model, 0.0)
    model.train()
    first, second = encoded(model)
    close(first, second)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_attention_drops_so_many_of_its_weights(implementation):
    """With values that are all one, a position gets the share of attention that was kept, over 1 - rate."""
    model = tiny_masked_lm(dropout=0.0)
    model.set_attn_implementation(implementation)
    set_dropout(model, 0.3)
    attention = model.train().base_model.encoder.layer[0].attention.self
    for projection in (attention.query, attention.key, attention.value):
        torch.nn.init.zeros_(projection.weight)
        torch.nn.init.zeros_(projection.bias)
    torch.nn.init.ones_(attention.value.bias)
    torch.manual_seed(1)
    mixed = attention(torch.zeros(64, 50, 32))[0]  # equal weights of 1/50: kept / 50 / 0.7
    kept = mixed * 50 * 0.7
    close(kept, kept.round())
    assert kept.mean().item() == pytest.approx(50 * 0.7, rel=0.01)


def test_weights_and_layer_norms_stay_as_they_are():
    model, untouched = tiny_masked_lm(dropout=0.0), tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.4)
    for (name, module), other in zip(model.named_modules(), untouched.modules(), strict=True):
        if isinstance(module, torch.nn.Dropout):
            assert (module.p, other.p) == (0.4, 0.0), name
        elif isinstance(module, torch.nn.LayerNorm):
            assert module.extra_repr() == other.extra_repr(), name
    assert all(torch.equal(mine, untouched.state_dict()[name]) for name, mine in model.state_dict().items())


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_that_is_no_probability_below_one_is_a_usage_error(rate):
    with pytest.raises(UsageError, match="dropout"):
        set_dropout(tiny_masked_lm(), rate)
