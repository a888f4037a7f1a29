from __future__ import annotations

from papers.simlm.enc_dec_mlm import EncoderDecoderMaskedLanguageModel
from tests.floats import close
from tests.papers.simlm.pretraining import DECODER, MASKS, loops, made, rows

OPTIONS = {
    "masks": MASKS | {"mask": 0.8, "random": 0.1},
    "decoder": DECODER,
    "per": "batch",
    "length": 48,
    "seed": 7,
}


def objective(**changes) -> EncoderDecoderMaskedLanguageModel:
    return made(EncoderDecoderMaskedLanguageModel, OPTIONS, **changes)


def test_each_side_predicts_what_is_masked_for_itself():
    mlm = objective()
    batch = mlm.collate(rows())
    network, tokens, losses = mlm.network, batch["clean_ids"], mlm(batch)
    hidden = network.encode(batch["encoder_ids"], batch)
    decoded = network.decode(hidden[:, 0], batch["decoder_ids"], batch)
    assert set(losses) == {"encoder", "decoder"}
    close(losses["encoder"], loops(network.encoder.cls(hidden), tokens, batch["encoder_chosen"]))
    close(losses["decoder"], loops(network.encoder.cls(decoded), tokens, batch["decoder_chosen"]))


def test_a_batch_without_masked_tokens_has_no_loss():
    mlm = objective(masks=MASKS | {"unit": "bernoulli", "encoder_rate": 0.0, "decoder_rate": 0.0})
    assert mlm(mlm.collate(rows())) == {}
    mlm = objective(masks=MASKS | {"unit": "bernoulli", "encoder_rate": 0.0})
    assert set(mlm(mlm.collate(rows()))) == {"decoder"}
