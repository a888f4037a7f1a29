from __future__ import annotations

import torch

from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, load_tokenizer
from repro.retrieval.stages import pretrain
from tests.killed import check_killed_and_continued
from tests.papers.cotmae_v2.pretraining import OPTIONS, made, rows
from tests.stage_inputs import pretraining, texts_and_model
from tests.tiny_models import tiny_tokenizer

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
