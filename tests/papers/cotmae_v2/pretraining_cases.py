from __future__ import annotations

from pathlib import Path

from torch import nn

from tests.papers.cotmae_v2 import pretraining as cotmae


def made(module, folder: Path, **changes) -> nn.Module:
    return module.made(**changes)


CASES = {
    "contextual-autoencoder": (cotmae, {}),
    "contextual-autoencoder, own decoders": (cotmae, {"decoder_sharing": False, "view_losses": "mean"}),
    "contextual-autoencoder, sum": (cotmae, {"token_loss_reduction": "sum", "encoded_texts": "both"}),
    "contextual-autoencoder, first version": (cotmae, cotmae.FIRST_VERSION),
}
