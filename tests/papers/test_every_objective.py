from __future__ import annotations

import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from papers.simlm import generator
from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.training.loop import train
from tests import recorded
from tests.papers.pretraining_in_parts import CASES, COUNT, batches, likeliest, objective, rows
from tests.retrieval.nn.parted_objectives import check_gradient
from tests.stage_inputs import Rows, optimisation

KINDS = [name for name in CASES if "," not in name]
TRAINED = [*KINDS, "seed, released decoder", "simcse, mlm", "simlm, joint", "cpdae, vectors"]
WRONG = {  # an objective: options that it refuses, with what it says
    "condenser": [
        ({"unit": "token"}, "'token' is not a known masking unit"),
        ({"early_share": 1.0}, "leaves no late layer"),
        ({"skip_from": 6}, "unexpected keyword argument 'skip_from'"),
    ],
    "seed": [
        ({"encoder_input": "all"}, "'all'"),
        ({"head": "new"}, "'new'"),
        ({"reduction": "max"}, "'max'"),
        ({"span": 0}, "0"),
        ({"decoder": "gpt"}, "'gpt'"),
    ],
    "prop": [
        ({"resample": "never"}, "'never' is not a known resampling"),
        ({"smoothing": "median"}, "'median' is not a known smoothing"),
        ({"smoothing": -1}, "smoothing is -1"),
        ({"collection": "tf"}, "'tf' is not a known count of words"),
        ({"scores": "raw"}, "'raw' is not a known kind of preference scores"),
        ({"set_size": "zero"}, "'zero' is not a known size of a word set"),
        ({"pairs": 0}, "0 pairs of word sets"),
        ({"set_size_mean": 0}, "mean size of a word set is 0"),
        ({"contrastive_input": "both"}, "'both' is not a known contrastive input"),
        ({"mlm_reduction": "max"}, "'max' is not a known reduction"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
    "b-prop": [
        ({"resample": "never"}, "'never' is not a known resampling"),
        ({"pieces": "last"}, "'last' is not a known attention of a word in pieces"),
        ({"contrast": "ratio"}, "'ratio' is not a known contrast of distributions"),
        ({"temperature": 0}, "the temperature is 0"),
        ({"similarity": "l2"}, "'l2' is not a known similarity"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
    "simcse": [
        ({"similarity": "l2"}, "'l2'"),
        ({"projector": "mlp"}, "'mlp'"),
        ({"dropout": 1.5}, "1.5"),
        ({"tau": 1}, "'tau'"),
    ],
    "ict": [
        ({"short_text": "pad"}, "'pad' is not a known treatment of short texts"),
        ({"mlm_on": "query"}, "'query' is not a known text for masked language modelling"),
        ({"mlm_reduction": "max"}, "'max' is not a known reduction"),
        ({"mlm_head": "old"}, "'old' is not a known start of the masked-language head"),
        ({"similarity": "l2"}, "'l2' is not a known similarity"),
        ({"resample": "never"}, "'never' is not a known resampling"),
        ({"keep": 1.5}, "keep is 1.5. Give a probability"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
    "cpdae": [
        ({"contrast": "words"}, "'words' is not a known contrast"),
        ({"direction": "second"}, "'second' is not a known direction of the contrast"),
        ({"contrast_reduction": "max"}, "'max' is not a known reduction of the contrast"),
        ({"normalisation": "l2"}, "'l2' is not a known normalisation"),
        ({"second_term": "none"}, "'none' is not a known second term of Eq. 4"),
        ({"reconstruction_reduction": "max"}, "'max' is not a known reduction of the reconstruction"),
        ({"target": "clean"}, "'clean' is not a known target of the reconstruction"),
        ({"mlm_reduction": "none"}, "'none' is not a known reduction of masked language modelling"),
        ({"mlm_head": "old"}, "'old' is not a known start of the masked-language head"),
        ({"versions": 3}, "'3' is not a known number of versions"),
        ({"decoder": "rnn"}, "'rnn' is not a known order of the decoder's layers"),
        ({"decoder_start": "old"}, "'old' is not a known start of the decoder"),
        ({"similarity": "l2"}, "'l2' is not a known similarity"),
        ({"temperature": 0.0}, "the temperature is 0.0"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
    "simlm": [
        ({"masks": {"unit": "token"}}, "'token' is not a known masking unit"),
        ({"masks": {"decoder_rate": 0.1}}, "the decoder's mask contains the encoder's"),
        ({"masks": {"decoder_rate": 1.2}}, "have to be in 0..1"),
        ({"masks": {"superset": "both"}}, "'both' is not a known way to a decoder's mask"),
        ({"replacement": {"training": "no"}}, "'no' is not a known training of the generator"),
        ({"replacement": {"draws": "same"}}, "not a known way to draw"),
        ({"decoder": {"slot": "add"}}, "'add' is not a known slot of the bottleneck"),
        ({"decoder": {"segments": "ones"}}, "'ones' is not a known segments of the decoder"),
        ({"token_loss": {"per": "token"}}, "'token' is not a known mean of token losses"),
        ({"token_loss": {"per": 0}}, "'0' is not a known mean of token losses"),
        ({"rate": 0.3}, "unexpected keyword argument 'rate'"),
    ],
    "pair-mlm": [({"unit": "syllable"}, "'syllable'")],
    "contextual-autoencoder": [
        ({"views": ["dense", "dens"]}, "'dens'"),
        ({"views": []}, ""),
        ({"views": ["dense", "dense"]}, ""),
        ({"decoders": ["ae"]}, "'ae'"),
        ({"decoders": []}, ""),
        ({"decoder_contexts": "one"}, "'one'"),
        ({"encoded_texts": "all"}, "'all'"),
        ({"view_losses": "max"}, "'max'"),
        ({"bottleneck_slot": "append"}, "'append'"),
        ({"vocabulary_head": "tied"}, "'tied'"),
        ({"detached_embeddings": "nowhere"}, "'nowhere'"),
        ({"token_loss_reduction": "none"}, "'none'"),
        ({"masking_rates": {"encoder": 1.5, "decoder": 0.3}}, "1.5"),
        ({"autoregressive_window": -1}, "-1"),
        ({"name": "x"}, "'name'"),
        ({"decoder_layers": {"auto_encoding": "gpt2", "auto_regressive": "gpt2", "layers": 1}}, "gpt2"),
    ],
}


@pytest.fixture(autouse=True)
def same_replacements(monkeypatch):
    monkeypatch.setattr(generator, "sampled", likeliest)


def test_the_part_of_unknown_words_has_nothing_to_predict_in_its_masks(tmp_path):
    both = {"encoder", "decoder"}
    absent = {"condenser": {"head", "late"}, "prop": {"mlm", "preference"}, "autoencoder": {"decoder"}}
    absent |= {"simlm": both, "enc-dec-rtd": both, "enc-dec-mlm": both, "simlm, joint": both | {"generator"}}
    for name, losses in absent.items():
        made = objective(name, tmp_path)
        some, nothing, others = (set(made(part)) for part in batches(made))
        assert some == others == losses and nothing == set()


@pytest.mark.parametrize("name", CASES)
def test_what_collates_can_be_sent_to_another_process_and_draws_anew_in_another_epoch_alone(name, tmp_path):
    made = objective(name, tmp_path)
    batch, again = made.collate(rows()), pickle.loads(pickle.dumps(made.collate))(rows())
    assert all(torch.equal(tensor, again[key]) for key, tensor in batch.items())
    later = made.collate(rows(epoch=1))
    same = all(t.shape == later[key].shape and torch.equal(t, later[key]) for key, t in batch.items())
    assert same is (name == "simcse" or name.startswith("autoencoder"))


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_the_slope_of_the_losses(name, tmp_path):
    made = objective(name, tmp_path)
    [batch] = batches(made, ((0, COUNT),))
    check_gradient(made, batch, is_coarse=name.startswith("contextual"))


@pytest.mark.parametrize("name", TRAINED)
def test_each_loss_falls_in_training_and_the_encoder_that_is_saved_loads_again(name, tmp_path):
    made = objective(name, tmp_path).float()
    given = optimisation(max_steps=24, batch_size=COUNT, learning_rate=8e-3, seed=3)
    train(made, Rows(rows()), given, out=tmp_path, progress=Progress())
    lines = [json.loads(line) for line in (tmp_path / "train_log.jsonl").read_text().splitlines()]
    for key in made(*batches(made, ((0, COUNT),))):
        losses = [line[key] for line in lines]
        most = 0.998 if key == "contrastive" else 0.9  # other masks alone change the rest by 2 %
        assert np.mean(losses[-6:]) < most * np.mean(losses[:6]), key
    made.save(tmp_path / "model")
    encoder, again = getattr(made, "network", made).encoder, load_masked_lm(tmp_path / "model").state_dict()
    assert all(torch.equal(again[key], value) for key, value in encoder.state_dict().items())


@pytest.mark.parametrize(
    ("name", "changes", "said"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_a_wrong_option_is_a_usage_error(name, changes, said, tmp_path):
    whole, usual = {}, CASES[name][1].OPTIONS
    for key, value in changes.items():
        nested = isinstance(value, dict) and isinstance(usual.get(key), dict)
        whole[key] = usual[key] | value if nested else value
    make, kind, _ = CASES[name]
    with pytest.raises(UsageError, match=said or None):
        make(kind, tmp_path, **whole)


NAMES_BY_FOLDER: dict[Path, list[str]] = {}
for name, (make, *_) in CASES.items():
    NAMES_BY_FOLDER.setdefault(Path(inspect.getfile(make)).parent, []).append(name)


@pytest.mark.parametrize("folder", NAMES_BY_FOLDER, ids=lambda folder: folder.name)
def test_the_losses_are_the_recorded_ones_as_long_as_the_versions_are(folder, tmp_path, renewing):
    """Every paper's tests have a table of their own, ``losses.json``: ``tests/recorded.py``."""
    table = recorded.Recorded(folder / "losses.json", "its class, and in the recipes that name it")
    if not renewing and not table.path.exists():
        pytest.skip("`python -m pytest tests -k recorded --renew-outputs` records the losses of a new paper")
    versions = {}
    for name in NAMES_BY_FOLDER[folder]:
        made = objective(name, tmp_path)
        losses = ((key, loss.item()) for key, loss in made(*batches(made, ((0, COUNT),))).items())
        now = {"digest": "", "numbers": recorded.close(losses, share=1e-4)}
        versions[name] = made.version
        table.check(name, made.version, now, renew=renewing)
    table.check_versions(versions, renew=renewing)
