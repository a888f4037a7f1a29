from __future__ import annotations

from pathlib import Path

from torch import nn

from tests.papers.simlm import test_autoencoder as autoencoder
from tests.papers.simlm import test_enc_dec_mlm as enc_dec_mlm
from tests.papers.simlm import test_enc_dec_rtd as enc_dec_rtd
from tests.papers.simlm import test_mlm as pair_mlm
from tests.papers.simlm import test_replaced_language_modelling as simlm

PER_TEXT = {"per": "text", "specials": True}


def made(module, folder: Path, **changes) -> nn.Module:
    return module.objective(**changes)


CASES = {
    "simlm": (simlm, {}),
    "simlm, by text": (simlm, {"token_loss": PER_TEXT}),
    "simlm, words by text": (simlm, {"token_loss": PER_TEXT | {"specials": False}}),
    "simlm, joint": (simlm, {"replacement": simlm.REPLACEMENT | {"training": "joint"}}),
    "simlm, shared draws": (
        simlm,
        {
            "replacement": {"training": "joint-from-random", "dropout": False, "draws": "shared"},
            "decoder": simlm.DECODER | {"shared_head": False, "slot": "prepend"},
        },
    ),
    "pair-mlm": (pair_mlm, {}),
    "enc-dec-mlm": (enc_dec_mlm, {}),
    "enc-dec-mlm, by text": (enc_dec_mlm, {"per": "text"}),
    "enc-dec-rtd": (enc_dec_rtd, {"weight": 50.0}),
    "enc-dec-rtd, by text": (enc_dec_rtd, {"token_loss": PER_TEXT}),
    "autoencoder": (autoencoder, {}),
    "autoencoder, by text": (autoencoder, {"token_loss": PER_TEXT}),
}
