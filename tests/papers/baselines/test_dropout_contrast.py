from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.baselines.dropout_contrast import DropoutContrast
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "temperature": 0.05,
    "similarity": "cosine",
    "dropout": 0.1,
    "projector": "nonlinear",
    "mlm": None,
    "length": 32,
    "seed": 7,
}


def objective(**changes):
    torch.manual_seed(1)
    return build(DropoutContrast, tiny_masked_lm(dropout=0.0), tiny_tokenizer(), OPTIONS | changes)


def rows(count=4):
    generator = np.random.default_rng(5)
    texts = [tiny_text(generator, 10) for _ in range(count)]
    ids = [tiny_tokenizer()(text, add_special_tokens=False)["input_ids"] for text in texts]
    return [{"input_ids": np.array(text), "index": place, "epoch": 0} for place, text in enumerate(ids)]


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_first_pass_is_told_from_the_second_passes_of_the_other_texts_as_loops(similarity):
    simcse = objective(similarity=similarity, dropout=0.3, temperature=0.5).double()
    seen = []
    simcse.projector.register_forward_hook(lambda module, given, out: seen.append(out.tolist()))
    loss = simcse.train()(simcse.collate(rows()))["contrastive"].item()
    [vectors] = seen
    first, second = vectors[:4], vectors[4:]
    assert first != second

    def sim(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.hypot(*a) / math.hypot(*b) if similarity == "cosine" else dot

    expected = 0.0
    for i in range(4):
        scores = [math.exp(sim(first[i], second[j]) / 0.5) for j in range(4)]
        expected -= math.log(scores[i] / sum(scores)) / 4
    close(loss, expected)


def test_a_text_alone_has_nothing_to_be_told_from():
    simcse = objective()
    assert simcse(simcse.collate(rows(1))) == {}


def test_masked_language_modelling_is_trained_along_if_asked_for():
    masking = {"rate": 0.3, "mask": 0.8, "random": 0.1}
    assert set(objective()(objective().collate(rows()))) == {"contrastive"}
    along = objective(mlm=masking, dropout=0.0)
    batch = along.collate(rows())
    masked, mask = batch["masked_ids"], batch["attention_mask"]
    losses, plain = along(batch), along.encoder(masked, attention_mask=mask, labels=batch["labels"])
    assert set(losses) == {"contrastive", "mlm"}
    close(losses["mlm"], plain.loss)


def test_the_encoder_is_saved_with_the_dropout_it_came_with(tmp_path):
    objective().save(tmp_path)
    assert load_masked_lm(tmp_path).config.hidden_dropout_prob == 0.0
    assert not (tmp_path / "projector.safetensors").exists()
