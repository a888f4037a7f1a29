"""The objective through the stage that trains it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from papers.cpdae.decoder import saved_decoder
from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.stages import pretrain
from tests.papers.baselines.tiny_texts import rows, save_statistics, texts
from tests.papers.cpdae.test_discriminative_autoencoder import OPTIONS, objective
from tests.stage_inputs import pretraining, texts_and_model


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    return save_statistics(tmp_path_factory.mktemp("statistics"), texts(100))


IDF_REC = {"contrast": "none", "idf": {"idf": "smooth", "normalise": True, "both_terms": True}}
VARIANTS = {
    "cpdae": {},
    "idf-rec": IDF_REC,
    "tied-norm-last": {"decoder_start": "tied", "decoder": "norm-last"},
}


def params(changes, **settings):
    path = "papers.cpdae.discriminative_autoencoder:DiscriminativeAutoencoder"
    return pretraining("cpdae", path, OPTIONS | changes, **{"max_steps": 10} | settings)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return texts_and_model(tmp_path_factory.mktemp("inputs"), rows(40, words=12))


@pytest.mark.parametrize("name", ["idf-rec", "tied-norm-last"])
def test_it_trains_in_the_stage_and_encoder_and_decoder_load_again(name, inputs, statistics, tmp_path):
    given = inputs | ({"statistics": statistics} if name == "idf-rec" else {})
    pretrain.run(params(VARIANTS[name], max_steps=30, learning_rate=0.01), given, tmp_path, Progress())
    lines = [json.loads(line) for line in (tmp_path / "train_log.jsonl").read_text().splitlines()]
    losses = [line["reconstruction"] for line in lines]
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:10])
    model = load_masked_lm(tmp_path / "model")
    decoder = saved_decoder(tmp_path / "model", model.config)
    if name == "tied-norm-last":
        assert (decoder.vocabulary.weight == model.bert.embeddings.word_embeddings.weight).all()


def test_weights_by_idf_need_the_statistics():
    with pytest.raises(UsageError, match="needs the term statistics"):
        objective(**IDF_REC)
