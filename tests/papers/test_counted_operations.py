"""Operations of a step of each pre-training, against torch's counter and by hand."""

from __future__ import annotations

import pytest
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.needed_operations import needed_operations
from repro.retrieval.nn.objectives import set_dropout
from repro.retrieval.training.flop_count import Flops
from tests.papers import pretraining_in_parts

PAPERS = ("costa", "cpdae", "contextual-autoencoder", "simlm")


def made(name: str, folder) -> nn.Module:
    built = pretraining_in_parts.objective(name, folder)
    set_dropout(built, 0.1)
    return built.double().train()


def texts() -> list[dict]:
    return [row for row in pretraining_in_parts.rows() if row["index"] in (0, 1, 3)]


def step(objective: nn.Module, batch: dict) -> None:
    sum(objective(batch).values()).backward()


@pytest.mark.parametrize("name", PAPERS)
def test_they_are_those_of_torchs_own_counter_forward_and_backward(name, tmp_path):
    objective = made(name, tmp_path)
    for text in texts():
        with FlopCounterMode(display=False) as theirs:
            step(objective, objective.collate([text]))
        assert needed_operations(objective, [text]) == theirs.get_total_flops()


@pytest.mark.parametrize("name", PAPERS)
def test_padding_is_none_of_them(name, tmp_path):
    objective, executed = made(name, tmp_path), Flops()
    with executed.step():
        step(objective, objective.collate(texts()))
    alone = sum(needed_operations(objective, [text]) for text in texts())
    assert needed_operations(objective, texts()) == alone < executed.counted[0]


def layers(count: int, length: int, config) -> int:
    """So many transformer layers over one text, forward: attention, its four projections, the inner layer."""
    h, inner = config.hidden_size, config.intermediate_size
    return count * (2 * length * (4 * h * h + 2 * h * inner) + 4 * length * length * h)


def head(positions: int, config) -> int:
    return 2 * positions * config.hidden_size * (config.hidden_size + config.vocab_size)


def costa(objective, batch) -> int:
    config, length = objective.encoder.config, batch["masked_ids"].shape[1]
    h, spans = config.hidden_size, batch["spans"].shape[1]
    predicted = head(int((batch["labels"] >= 0).sum()), config)
    texts = layers(config.num_hidden_layers, length, config) + 2 * h * h
    means = 2 * spans * length * h
    return 3 * (texts + predicted + 2 * (1 + spans) * h) + 2 * means


def cpdae(objective, batch) -> int:
    config, length = objective.encoder.config, batch["masked_ids"].shape[1]
    both = 2 * layers(config.num_hidden_layers, length, config)
    predicted = head(int((batch["labels"] >= 0).sum()), config)
    return 3 * (both + predicted + head(2, config))  # the decoder has a head's sizes, one vector a version


def simlm(objective, batch) -> int:
    network, generator, length = objective.network, objective.generator.model, batch["clean_ids"].shape[1]
    config, counted = network.encoder.config, int((~batch["special"]).sum())
    filling = 2 * layers(generator.config.num_hidden_layers, length, generator.config)
    filling += sum(
        head(int(batch[f"{side}_chosen"].sum()), generator.config) for side in ("encoder", "decoder")
    )
    depth = config.num_hidden_layers + len(network.decoder.layers)
    return filling + 3 * (layers(depth, length, config) + 2 * head(counted, config))


def test_logits_that_are_computed_again_count_once(tmp_path, monkeypatch):
    objective, [text] = made("cpdae", tmp_path), texts()[-1:]
    monkeypatch.setattr("repro.retrieval.nn.masked_tokens.CHUNK", 1)
    monkeypatch.setattr("repro.retrieval.nn.masked_tokens.is_scarce", lambda: True)
    once, executed = needed_operations(objective, [text]), Flops()
    with executed.step():
        step(objective, objective.collate([text]))
    predicted = int((objective.collate([text])["labels"] >= 0).sum())
    assert executed.counted == [once + head(predicted, objective.encoder.config)]
