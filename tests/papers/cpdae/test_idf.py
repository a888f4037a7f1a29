from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.cpdae.idf import idf_weights
from repro.errors import DataError, UsageError
from tests.floats import close
from tests.papers.baselines.tiny_texts import save_statistics, texts
from tests.tiny_models import tiny_tokenizer

SIZE = len(tiny_tokenizer())


@pytest.fixture(scope="module")
def counted():
    return texts(50)


@pytest.fixture(scope="module")
def statistics(tmp_path_factory, counted):
    return save_statistics(tmp_path_factory.mktemp("statistics"), counted)


def weights(folder, **changes):
    return idf_weights(folder, **{"idf": "smooth", "normalise": False, "vocabulary_size": SIZE} | changes)


def test_weights_are_the_smooth_idf_of_every_word(statistics, counted):
    found = weights(statistics)
    assert found.dtype == torch.float32 and found.shape == (SIZE,)
    for word in range(SIZE):
        frequency = sum(word in one for one in counted)
        close(found[word], math.log(51 / (1 + frequency)) + 1)


def test_normalised_weights_are_1_on_average_and_in_the_same_proportion(statistics):
    plain, normalised = weights(statistics), weights(statistics, normalise=True)
    close(normalised.mean(), 1)
    close(normalised / normalised[0], plain / plain[0])


def test_an_unknown_formula_and_unusable_counts_are_errors(statistics, tmp_path):
    with pytest.raises(UsageError, match="'bm25' is not a known idf"):
        weights(statistics, idf="bm25")
    with pytest.raises(DataError, match="has 91"):
        weights(statistics, vocabulary_size=91)
    with pytest.raises(DataError, match="cannot be read as term statistics"):
        weights(tmp_path)
    np.save(tmp_path / "document_frequency.npy", np.zeros(SIZE, dtype=np.int64))
    (tmp_path / "counts.json").write_text("[]")
    with pytest.raises(DataError, match="cannot be read as term statistics"):
        weights(tmp_path)
