"""Options, and the objective through the stage that trains it."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from papers.cpdae.decoder import saved_decoder
from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.stages import pretrain
from tests.killed import check_killed_and_continued
from tests.papers.baselines.tiny_texts import rows, save_statistics, texts
from tests.papers.cpdae.test_discriminative_autoencoder import OPTIONS, objective
from tests.stage_inputs import pretraining, texts_and_model


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    return save_statistics(tmp_path_factory.mktemp("statistics"), texts(100))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"contrast": "words"}, "no contrast 'words'"),
        ({"direction": "second"}, "no direction of the contrast 'second'"),
        ({"contrast_reduction": "max"}, "no reduction of the contrast 'max'"),
        ({"normalisation": "l2"}, "no normalisation 'l2'"),
        ({"second_term": "none"}, "no second term of Eq. 4 'none'"),
        ({"reconstruction_reduction": "max"}, "no reduction of the reconstruction 'max'"),
        ({"target": "clean"}, "no target of the reconstruction 'clean'"),
        ({"mlm_reduction": "none"}, "no reduction of masked language modelling 'none'"),
        ({"mlm_head": "old"}, "no start of the masked-language head 'old'"),
        ({"versions": 3}, "no number of versions '3'"),
        ({"decoder": "rnn"}, "no order of the decoder's layers 'rnn'"),
        ({"decoder_start": "old"}, "no start of the decoder 'old'"),
        ({"similarity": "l2"}, "no similarity 'l2'"),
        ({"temperature": 0.0}, "the temperature is 0.0"),
        ({"idf": {"idf": "smooth", "normalise": True, "both_terms": True}}, "needs the term statistics"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        objective(**changes)


def test_what_collates_can_be_sent_to_another_process():
    cpdae = objective()
    batch, again = cpdae.collate(rows()), pickle.loads(pickle.dumps(cpdae.collate))(rows())
    assert all((tensor == again[name]).all() for name, tensor in batch.items())


IDF_REC = {"contrast": "none", "idf": {"idf": "smooth", "normalise": True, "both_terms": True}}
VARIANTS = {
    "cpdae": {},
    "cpdae-r": {"contrast": "representation", "similarity": "cosine", "temperature": 0.05},
    "without-contrast": {"contrast": "none"},
    "idf-rec": IDF_REC,
    "tied-norm-last": {"decoder_start": "tied", "decoder": "norm-last"},
}


def params(changes, **settings):
    path = "papers.cpdae.discriminative_autoencoder:DiscriminativeAutoencoder"
    return pretraining("cpdae", path, OPTIONS | changes, **{"max_steps": 10} | settings)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return texts_and_model(tmp_path_factory.mktemp("inputs"), rows(40, words=12))


@pytest.mark.parametrize("name", list(VARIANTS))
def test_losses_fall_and_encoder_and_decoder_load_again(name, inputs, statistics, tmp_path):
    given = inputs | ({"statistics": statistics} if name == "idf-rec" else {})
    pretrain.run(params(VARIANTS[name], max_steps=60, learning_rate=0.01), given, tmp_path, Progress())
    lines = [json.loads(line) for line in (tmp_path / "train_log.jsonl").read_text().splitlines()]
    losses = [line["reconstruction"] for line in lines]
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])
    model = load_masked_lm(tmp_path / "model")
    decoder = saved_decoder(tmp_path / "model", model.config)
    if name == "tied-norm-last":
        assert (decoder.vocabulary.weight == model.bert.embeddings.word_embeddings.weight).all()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cpdae", "tied-norm-last"])
def test_a_pre_training_killed_at_step_7_ends_with_the_same_bytes(name, inputs, tmp_path):
    check_killed_and_continued(pretrain, params(VARIANTS[name]), inputs, tmp_path)
