"""Weights of words by inverse document frequency (§4.3, IDF-REC)."""

import json
from pathlib import Path

import numpy as np
import torch

from repro.errors import DataError, UsageError, check_known

FORMULAS = ("smooth",)


def weights_of(idf: dict | None, statistics: Path | None, *, vocabulary_size: int) -> torch.Tensor | None:
    """Return the weights of the V words, (V,), by an objective's option ``idf``, or None if the option is
    None. Raises UsageError if ``statistics`` is None, and the errors of ``idf_weights``."""
    if idf is None:
        return None
    if statistics is None:
        raise UsageError(
            "idf needs the term statistics of the training texts. Give recipe.pretrain ``statistics``."
        )
    how = {"idf": idf["idf"], "normalise": idf["normalise"]}
    return idf_weights(statistics, vocabulary_size=vocabulary_size, **how)


def idf_weights(statistics: Path, *, idf: str, normalise: bool, vocabulary_size: int) -> torch.Tensor:
    """Return w of the weighted Eq. 4 from the counts over the training texts, (V,) float32.

        idf(x) = log((1 + N) / (1 + df(x))) + 1

    as scikit-learn's smooth idf, which is positive for words that never occur (reading ``idf-weights``).

    Args:
        statistics: folder with ``document_frequency.npy``, (V,), and ``counts.json``, which has N as
            "texts".
        idf: ``smooth``.
        normalise: whether to divide by the mean over the V words. Otherwise the loss grows with the weights,
            which are large for a corpus of mostly rare words.
        vocabulary_size: V.

    Raises DataError if the counts cannot be read or are of another vocabulary, UsageError for other ``idf``.
    """
    check_known("idf", idf, valid=FORMULAS)
    try:
        frequency = np.load(statistics / "document_frequency.npy").astype(np.float64)  # (V,)
        texts = json.loads((statistics / "counts.json").read_text(encoding="utf-8"))["texts"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{statistics}: cannot be read as term statistics ({error})") from error
    if frequency.shape != (vocabulary_size,):
        raise DataError(
            f"{statistics}: counts of {len(frequency)} words, but the model has {vocabulary_size}"
        )
    weights = np.log((1 + texts) / (1 + frequency)) + 1
    return torch.from_numpy(weights / weights.mean() if normalise else weights).float()
