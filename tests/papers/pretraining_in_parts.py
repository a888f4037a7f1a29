"""Every pre-training objective of the papers under its main options, small, with texts for it."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tests.papers.baselines import test_condenser as condenser
from tests.papers.baselines import test_contrastive_term_words as b_prop
from tests.papers.baselines import test_dropout_contrast as simcse
from tests.papers.baselines import test_inverse_cloze as ict
from tests.papers.baselines import test_representative_words as prop
from tests.papers.baselines import test_weak_decoder as seed
from tests.papers.baselines.tiny_texts import save_statistics, texts
from tests.papers.cotmae_v2 import pretraining as cotmae
from tests.papers.cpdae import test_discriminative_autoencoder as cpdae
from tests.papers.simlm import test_autoencoder as autoencoder
from tests.papers.simlm import test_enc_dec_mlm as enc_dec_mlm
from tests.papers.simlm import test_enc_dec_rtd as enc_dec_rtd
from tests.papers.simlm import test_mlm as pair_mlm
from tests.papers.simlm import test_replaced_language_modelling as simlm
from tests.tiny_models import tiny_text, tiny_tokenizer

PARTS = ((0, 2), (2, 3), (3, 6))  # the second is one text in which nothing can be masked
COUNT = PARTS[-1][1]
PER_TEXT = {"per": "text", "specials": True}
MLM = {"rate": 0.3, "mask": 0.8, "random": 0.1}
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
    "contextual-autoencoder": (cotmae, {}),
    "contextual-autoencoder, own decoders": (cotmae, {"decoder_sharing": False, "view_losses": "mean"}),
    "contextual-autoencoder, sum": (cotmae, {"token_loss_reduction": "sum", "encoded_texts": "both"}),
    "contextual-autoencoder, first version": (cotmae, cotmae.FIRST_VERSION),
    "condenser": (condenser, {}),
    "condenser, head alone": (condenser, {"late": False, "unit": "bernoulli"}),
    "seed": (seed, {}),
    "seed, sum": (seed, {"reduction": "sum", "encoder_input": "clean", "weight": 0.3}),
    "prop": (prop, {}),
    "prop, clean": (prop, {"contrastive_input": "clean", "mlm_reduction": "sum", "weight": 0.3}),
    "b-prop": (b_prop, {}),
    "b-prop, clean": (b_prop, {"contrastive_input": "clean", "mlm_reduction": "sum"}),
    "simcse": (simcse, {"dropout": 0.0}),
    "simcse, mlm": (simcse, {"dropout": 0.0, "mlm": MLM}),
    "ict": (ict, {}),
    "ict, texts apart": (ict, {"mlm_on": "text", "similarity": "cosine"}),
    "ict, short texts dropped": (ict, {"short_text": "drop", "mlm_reduction": "sum"}),
    "cpdae": (cpdae, {}),
    "cpdae, sums": (cpdae, {"mlm_reduction": "sum", "contrast_reduction": "sum", "direction": "first"}),
    "cpdae, softmax": (cpdae, {"normalisation": "softmax", "versions": 1, "target": "masked"}),
    "cpdae, vectors": (cpdae, {"contrast": "representation", "similarity": "cosine", "versions": 1}),
    "cpdae, no contrast": (cpdae, {"contrast": "none", "reconstruction_reduction": "mean"}),
    "cpdae, idf": (cpdae, {"idf": {"idf": "smooth", "normalise": True, "both_terms": True}}),
}


def objective(name: str, folder, *, dropout: float = 0.0) -> nn.Module:
    """One of ``CASES``, always with the same weights, in float64; ``folder`` is for term statistics."""
    made, changes = CASES[name]
    if dropout:
        changes = changes | {"dropout": dropout}
    if made in (prop, b_prop):
        built = made.objective(save_statistics(folder / "statistics", texts(50)), **changes)
    elif made is cotmae:
        built = made.made(**changes)
    elif "idf" in changes:
        built = made.objective(statistics=save_statistics(folder / "statistics", texts(50)), **changes)
    else:
        built = made.objective(**changes)
    for parameter in built.parameters():  # else all vectors are alike, and so are all losses
        if parameter.dim() == 2:
            parameter.data *= 6
    return built.double()


def batches(built: nn.Module, parts=PARTS, *, epoch: int = 0) -> list[dict[str, torch.Tensor]]:
    """A batch for each part of the ``COUNT`` texts."""
    texts_of_epoch = rows(epoch)
    return [built.collate(texts_of_epoch[first:end]) for first, end in parts]


def rows(epoch: int = 0) -> list[dict]:
    """The ``COUNT`` texts."""
    return [_row(index, epoch) for index in range(COUNT)]


def likeliest(hidden: torch.Tensor, head) -> torch.Tensor:
    """In the place of SimLM's ``sampled``: the same tokens, whatever the part."""
    return head(hidden).argmax(dim=-1)


def _row(index: int, epoch: int) -> dict:
    """Tokens, which are sentences and spans too; the third text is unknown words only."""
    generator = np.random.default_rng(index)
    sentences = [f"{tiny_text(generator, 3 + index)}." for _ in range(4)]
    if index == PARTS[1][0]:
        sentences = ["[UNK]"] * 4
    ids = [tiny_tokenizer()(text, add_special_tokens=False)["input_ids"] for text in sentences]
    return {
        "input_ids": np.concatenate(ids),
        "sentences": np.array([len(some) for some in ids]),
        "spans": np.array([1, 2, 1]),
        "epoch": epoch,
        "index": index,
    }
