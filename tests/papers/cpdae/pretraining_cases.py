from __future__ import annotations

from pathlib import Path

from torch import nn

from tests.papers.baselines.tiny_texts import save_statistics, texts
from tests.papers.cpdae import test_discriminative_autoencoder as cpdae


def made(module, folder: Path, **changes) -> nn.Module:
    if "idf" in changes:
        changes["statistics"] = save_statistics(folder / "statistics", texts(50))
    return module.objective(**changes)


CASES = {
    "cpdae": (cpdae, {}),
    "cpdae, sums": (cpdae, {"mlm_reduction": "sum", "contrast_reduction": "sum", "direction": "first"}),
    "cpdae, softmax": (cpdae, {"normalisation": "softmax", "versions": 1, "target": "masked"}),
    "cpdae, vectors": (cpdae, {"contrast": "representation", "similarity": "cosine", "versions": 1}),
    "cpdae, no contrast": (cpdae, {"contrast": "none", "reconstruction_reduction": "mean"}),
    "cpdae, idf": (cpdae, {"idf": {"idf": "smooth", "normalise": True, "both_terms": True}}),
}
