from __future__ import annotations

import pytest
import torch

from papers.simlm.replaced_language_modelling import ReplacedLanguageModelling
from repro.errors import DataError
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.nn.masked_tokens import token_cross_entropy
from tests.floats import close
from tests.papers.simlm.pretraining import DECODER, MASKS, TOKEN_LOSS, loops, made, rows
from tests.tiny_models import save_tiny_model, tiny_masked_lm

REPLACEMENT = {"training": "frozen", "dropout": True, "draws": "independent"}
OPTIONS = {
    "masks": MASKS,
    "replacement": REPLACEMENT,
    "generator_weight": 0.2,
    "decoder": DECODER,
    "token_loss": TOKEN_LOSS,
    "length": 48,
    "seed": 7,
}


def objective(**changes) -> ReplacedLanguageModelling:
    return made(ReplacedLanguageModelling, OPTIONS, **changes)


def joint(**changes) -> ReplacedLanguageModelling:
    return objective(replacement=REPLACEMENT | {"training": "joint"}, **changes)


def seeded(simlm, batch, seed=3):
    torch.manual_seed(seed)
    return simlm(batch)


@pytest.mark.parametrize("specials", [False, True])
def test_the_losses_are_equation_2_for_encoder_and_decoder_over_all_positions(specials):
    simlm = objective(token_loss={"per": "batch", "specials": specials})
    batch = simlm.collate(rows())
    torch.manual_seed(3)
    encoder_ids, decoder_ids, _ = simlm.generator(batch)
    bert, mask = simlm.network.encoder, batch["attention_mask"]
    encoded = bert(
        encoder_ids, attention_mask=mask, token_type_ids=batch["segments"], output_hidden_states=True
    )
    embedded = bert.bert.embeddings(decoder_ids)
    hidden = torch.cat((encoded.hidden_states[-1][:, :1], embedded[:, 1:]), dim=1)
    for layer in bert.bert.encoder.layer[-2:]:  # the decoder's weights before any step
        hidden = layer(hidden, mask[:, None, None, :].bool().expand(-1, 1, mask.shape[1], -1))
    counted = mask.bool() if specials else mask.bool() & ~torch.isin(batch["clean_ids"], torch.arange(5))
    losses = seeded(simlm, batch)
    assert set(losses) == {"encoder", "decoder"}
    close(losses["encoder"], loops(encoded.logits, batch["clean_ids"], counted))
    close(losses["decoder"], loops(bert.cls(hidden), batch["clean_ids"], counted))


def test_a_frozen_generator_gets_no_gradient_and_never_changes():
    simlm = objective(dropout=0.1)
    before = {name: tensor.clone() for name, tensor in simlm.generator.state_dict().items()}
    learnt = torch.optim.SGD((p for p in simlm.parameters() if p.requires_grad), lr=0.1)
    sum(simlm(simlm.collate(rows())).values()).backward()
    learnt.step()
    assert all(parameter.grad is None for parameter in simlm.generator.parameters())
    assert all((tensor == before[name]).all() for name, tensor in simlm.generator.state_dict().items())
    assert all(parameter.grad is not None for parameter in simlm.network.parameters())


def test_a_joint_generator_learns_by_its_own_loss_only():
    simlm = joint()
    batch = simlm.collate(rows())
    losses = seeded(simlm, batch)
    assert set(losses) == {"encoder", "decoder", "generator"}
    (losses["encoder"] + losses["decoder"]).backward()
    assert all(parameter.grad is None for parameter in simlm.generator.parameters())
    losses["generator"].backward()
    assert all(parameter.grad is not None for parameter in simlm.generator.parameters())


def test_the_generators_loss_is_its_weighted_cross_entropy_at_the_encoders_masks():
    simlm = joint()
    batch = simlm.collate(rows())
    model, chosen = simlm.generator.model, batch["encoder_chosen"]
    logits = model(
        batch["encoder_ids"], attention_mask=batch["attention_mask"], token_type_ids=batch["segments"]
    ).logits
    expected = token_cross_entropy(logits[chosen], batch["clean_ids"][chosen], reduction="mean")
    close(simlm(batch)["generator"], 0.2 * expected)


def test_the_encoder_is_kept_with_its_head_and_nothing_else(tmp_path):
    simlm = objective(double=False)
    simlm.save(tmp_path / "model")
    again = load_masked_lm(tmp_path / "model").state_dict()
    assert all((again[name] == tensor).all() for name, tensor in simlm.network.encoder.state_dict().items())
    assert not list((tmp_path / "model").glob("*generator*")) + list((tmp_path / "model").glob("*decoder*"))


def test_the_generator_comes_from_its_folder(tmp_path):
    save_tiny_model(tmp_path, seed=9)
    simlm = objective(generator=tmp_path / "model", double=False)
    expected = tiny_masked_lm(seed=9).state_dict()
    kept = simlm.generator.model.state_dict()
    assert all((expected[name] == tensor).all() for name, tensor in kept.items())
    with pytest.raises(DataError, match="cannot be read as a model directory"):
        objective(generator=tmp_path / "nowhere")
