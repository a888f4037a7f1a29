"""What tests of CPDAE's decoder share."""

import pytest
import torch

from papers.cpdae.decoder import starting_decoder
from tests.tiny_models import save_tiny_model, tiny_masked_lm


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    save_tiny_model(place)
    torch.manual_seed(2)
    decoder = starting_decoder(tiny_masked_lm(), layout="mlm-head", start="new")
    with torch.no_grad():
        decoder.vocabulary.bias.normal_(-2, 2)
    decoder.save(place / "model")
    return place / "model"
