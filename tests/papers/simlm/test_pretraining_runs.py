from __future__ import annotations

import json

import pytest

from repro.progress import Progress
from repro.retrieval.stages import pretrain
from tests.floats import close
from tests.killed import check_killed_and_continued
from tests.papers.simlm.pretraining import DECODER, MASKS, TOKEN_LOSS, rows
from tests.papers.simlm.test_replaced_language_modelling import OPTIONS as SIMLM
from tests.stage_inputs import pretraining, texts_and_model
from tests.tiny_models import save_tiny_model

JOINT = {"training": "joint", "dropout": True, "draws": "independent"}
WITHOUT_PLACE = {name: value for name, value in SIMLM.items() if name not in ("length", "seed")}
VERSIONS = {"simlm": 2, "enc-dec-rtd": 2}  # of those that draw replacements; 1 elsewhere
OBJECTIVES = {
    "simlm": ("papers.simlm.replaced_language_modelling:ReplacedLanguageModelling", WITHOUT_PLACE),
    "enc-dec-mlm": (
        "papers.simlm.enc_dec_mlm:EncoderDecoderMaskedLanguageModel",
        {"masks": MASKS, "decoder": DECODER, "per": "batch"},
    ),
    "enc-dec-rtd": (
        "papers.simlm.enc_dec_rtd:EncoderDecoderReplacedTokenDetection",
        {
            "masks": MASKS,
            "dropout": True,
            "draws": "independent",
            "decoder": DECODER,
            "token_loss": TOKEN_LOSS,
            "weight": 1.0,
        },
    ),
    "autoencoder": ("papers.simlm.autoencoder:AutoEncoder", {"decoder": DECODER, "token_loss": TOKEN_LOSS}),
}


def params(name: str, **changes) -> dict:
    path, options = OBJECTIVES[name]
    given = {"max_steps": 10, "warmup_ratio": 0.0, "warmup_steps": 2, "seed": 45678}
    return pretraining(name, path, options, version=VERSIONS.get(name, 1), **given | changes)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    save_tiny_model(folder / "generator", seed=5)
    return texts_and_model(folder, rows(40, words=8), layers=2)


def weights(folder) -> bytes:
    return (folder / "model/model.safetensors").read_bytes()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["simlm", "simlm-joint", "enc-dec-rtd"])
def test_a_pre_training_killed_while_it_draws_ends_with_the_same_bytes(name, inputs, tmp_path):
    given = params(name.removesuffix("-joint"))
    if name == "simlm-joint":
        given["options"] = given["options"] | {"replacement": JOINT}
    check_killed_and_continued(pretrain, given, inputs, tmp_path)


def test_groups_that_a_loss_averages_are_the_same_whatever_the_parts(inputs, tmp_path, monkeypatch):
    given = params("autoencoder")
    given["options"] = given["options"] | {"token_loss": TOKEN_LOSS | {"per": 3}}
    facts = {}
    for name, variables in {"alone": {}, "told": {"REPRO_MICRO_BATCH": "5"}}.items():
        (tmp_path / name).mkdir()
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        facts[name] = pretrain.run(given, inputs, tmp_path / name, Progress())
    logs = [(tmp_path / name / "train_log.jsonl").read_text().splitlines() for name in facts]
    close(*(json.loads(lines[0])["decoder"] for lines in logs), dtype="bfloat16", terms=1)  # other dropout
    assert [said.get("micro_batch") for said in facts.values()] == [None, 5]


def test_the_stage_hands_a_generator_on(inputs, tmp_path):
    folder = inputs["model"].parent / "generator"
    for name, given in (("own", inputs), ("other", inputs | {"generator": folder})):
        (tmp_path / name).mkdir()
        pretrain.run(params("simlm", max_steps=2), given, tmp_path / name, Progress())
    assert weights(tmp_path / "own") != weights(tmp_path / "other")
