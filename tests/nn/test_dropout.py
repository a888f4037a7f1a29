from __future__ import annotations

import torch

from repro.nn.dropout import set_dropout
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


def encoded(model):
    batch = tiny_tokenizer()(["the river and the old bridge of stone"] * 2, return_tensors="pt")
    return model.base_model(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state


def test_a_model_without_dropout_gets_one_that_acts_in_training_only():
    model = tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.1)
    model.train()
    first, second = encoded(model)
    assert not torch.allclose(first, second)
    model.eval()
    first, second = encoded(model)
    torch.testing.assert_close(first, second)
    assert model.config.hidden_dropout_prob == 0.0


def test_attention_drops_too_at_the_new_rate():
    model = tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.0)
    for layer in model.base_model.encoder.layer:
        set_dropout(layer.attention.self, 0.5)
    model.train()
    first, second = encoded(model)
    assert not torch.allclose(first, second)


def test_no_dropout_makes_two_passes_equal():
    model = tiny_masked_lm(dropout=0.3)
    set_dropout(model, 0.0)
    model.train()
    first, second = encoded(model)
    torch.testing.assert_close(first, second)
