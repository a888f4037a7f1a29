"""The objective through training and through its stage, and what is left of it."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import torch

from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, load_tokenizer
from repro.retrieval.stages import pretrain
from repro.retrieval.training.loop import train
from tests.floats import close
from tests.killed import check_killed_and_continued
from tests.papers.cotmae_v2.pretraining import FIRST_VERSION, OPTIONS, made, rows
from tests.stage_inputs import Rows, optimisation, pretraining, texts_and_model
from tests.tiny_models import tiny_tokenizer

SHAPES = {
    "whole": {},
    "first-version": FIRST_VERSION,
    "separate": {"decoder_sharing": False},
    "sparse-only": {"views": ["sparse"], "encoded_texts": "both"},
    "bert-decoders": {
        "decoder_layers": {"auto_encoding": "bert", "auto_regressive": "bert", "layers": 2},
        "bottleneck_slot": "prepend",
        "autoregressive_window": 3,
        "vocabulary_head": "plain",
        "detached_embeddings": "everywhere",
    },
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_each_loss_falls_and_the_encoder_loads_again(shape, tmp_path):
    objective = made(double=False, dropout=0.1, **SHAPES[shape])
    given = optimisation(max_steps=60, learning_rate=5e-3, weight_decay=0.01, seed=3)
    train(objective, Rows(rows(8)), given, out=tmp_path, progress=Progress())
    lines = [json.loads(line) for line in (tmp_path / "train_log.jsonl").read_text().splitlines()]
    names = {"encoder.mlm"} | {f"{name}.{view}" for name in objective.names for view in objective.views}
    for name in names:
        losses = [line[name] for line in lines]
        assert len(losses) == 60 and np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.15, name
    close(lines[0]["loss"], sum(lines[0][name] for name in names), dtype="float32")  # Eq. 14
    objective.save(tmp_path / "model")
    again = load_masked_lm(tmp_path / "model").state_dict()
    assert all(torch.equal(again[name], value) for name, value in objective.encoder.state_dict().items())


PARAMS = pretraining(
    "contextual-autoencoder",
    "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder",
    OPTIONS,
    version=2,
    texts_per_batch=4,
    max_steps=8,
    weight_decay=0.01,
)


def test_the_stage_hands_spans_on_and_a_killed_training_ends_with_the_same_bytes(tmp_path):
    inputs = texts_and_model(tmp_path, rows(10), layers=2)
    check_killed_and_continued(pretrain, PARAMS, inputs, tmp_path, step=6)


def test_only_the_masked_language_model_is_kept(tmp_path):
    from safetensors import safe_open

    objective = made(double=False)
    objective.save(tmp_path)
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert all(name.startswith(("bert.", "cls.")) for name in file.keys())  # noqa: SIM118 (not a dict)
    encoder, whole = load_encoder(tmp_path), load_masked_lm(tmp_path)
    for name, value in objective.encoder.bert.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], value)
    assert torch.equal(whole.cls.predictions.bias, objective.encoder.cls.predictions.bias)
    assert load_tokenizer(tmp_path).get_vocab() == tiny_tokenizer().get_vocab()
    assert not list(tmp_path.glob("*decoder*"))


def test_what_collates_can_be_sent_to_another_process():
    objective = made(double=False)
    batch, again = objective.collate(rows()), pickle.loads(pickle.dumps(objective.collate))(rows())
    assert all(torch.equal(tensor, again[name]) for name, tensor in batch.items())
