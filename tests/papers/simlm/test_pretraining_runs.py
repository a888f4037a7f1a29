from __future__ import annotations

import pytest

from papers.simlm.bottleneck import ThroughBottleneck
from repro.progress import Progress
from repro.retrieval.stages import pretrain
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


def test_a_training_cuts_whole_batches_so_that_parts_keep_the_groups_of_a_loss(inputs, tmp_path, monkeypatch):
    given, seen, cut = params("autoencoder"), [], ThroughBottleneck.cut
    given["options"] = given["options"] | {"token_loss": TOKEN_LOSS | {"per": 3}}

    def watched(objective, batch, size):
        seen.append((len(batch["decoder_groups"]), size))
        return cut(objective, batch, size)

    monkeypatch.setattr(ThroughBottleneck, "cut", watched)
    monkeypatch.setenv("REPRO_MICRO_BATCH", "5")
    assert pretrain.run(given, inputs, tmp_path, Progress())["micro_batch"] == 5
    assert len(seen) == 10 and set(seen) == {(8, 5)}


def test_the_stage_hands_a_generator_on(inputs, tmp_path):
    folder = inputs["model"].parent / "generator"
    for name, given in (("own", inputs), ("other", inputs | {"generator": folder})):
        (tmp_path / name).mkdir()
        pretrain.run(params("simlm", max_steps=2), given, tmp_path / name, Progress())
    assert weights(tmp_path / "own") != weights(tmp_path / "other")
