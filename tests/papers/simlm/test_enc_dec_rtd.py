from __future__ import annotations

import math

import torch

from papers.simlm.enc_dec_rtd import EncoderDecoderReplacedTokenDetection
from tests.floats import close
from tests.papers.simlm.pretraining import DECODER, MASKS, TOKEN_LOSS, made, rows

OPTIONS = {
    "masks": MASKS,
    "dropout": True,
    "draws": "independent",
    "decoder": DECODER,
    "token_loss": TOKEN_LOSS,
    "weight": 1.0,
    "length": 48,
    "seed": 7,
}


def objective(**changes) -> EncoderDecoderReplacedTokenDetection:
    return made(EncoderDecoderReplacedTokenDetection, OPTIONS, **changes)


def seeded(rtd, batch):
    torch.manual_seed(3)
    return rtd(batch)


def test_both_losses_are_the_cross_entropy_of_being_replaced_written_as_loops():
    rtd = objective(weight=50.0)
    batch = rtd.collate(rows())
    torch.manual_seed(3)
    encoder_ids, decoder_ids, _ = rtd.generator(batch)
    hidden = rtd.network.encode(encoder_ids, batch)
    decoded = rtd.network.decode(hidden[:, 0], decoder_ids, batch)
    first, _, last = rtd.encoder_head
    losses = seeded(rtd, batch)
    assert set(losses) == {"encoder", "decoder"}
    for side, states, ids in (("encoder", hidden, encoder_ids), ("decoder", decoded, decoder_ids)):
        total, count = 0.0, 0
        for n, i in (~batch["special"]).nonzero().tolist():
            inner = [
                x * 0.5 * (1 + math.erf(x / math.sqrt(2)))
                for x in (first.weight @ states[n, i] + first.bias).tolist()
            ]
            score = sum(w * x for w, x in zip(last.weight[0].tolist(), inner, strict=True)) + last.bias.item()
            s = 1 / (1 + math.exp(-score))
            total -= math.log(s) if ids[n, i] != batch["clean_ids"][n, i] else math.log(1 - s)
            count += 1
        close(losses[side], 50 * total / count)


def test_one_detector_or_two_as_the_reading_of_the_head_says():
    shared, separate = objective(), objective(decoder=DECODER | {"shared_head": False})
    assert shared.encoder_head is shared.decoder_head
    assert separate.encoder_head is not separate.decoder_head
    assert (separate.encoder_head[0].weight == separate.decoder_head[0].weight).all()
