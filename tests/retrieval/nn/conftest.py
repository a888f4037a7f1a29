"""The model with which objectives start."""

import pytest

from repro.retrieval.nn.checkpoint import save_model
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


@pytest.fixture
def start(tmp_path):
    save_model(tiny_masked_lm(dropout=0.0), tiny_tokenizer(), tmp_path / "model")
    return tmp_path / "model"
