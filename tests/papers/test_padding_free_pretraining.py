from __future__ import annotations

import pytest

from papers.simlm import generator
from tests.papers import pretraining_in_parts as pretraining
from tests.retrieval.nn.test_padding_free import held_against_the_padded

PRETRAININGS = (
    "costa",
    "cpdae",
    "simlm",
    "contextual-autoencoder",
    "seed",
    "prop",
    "simcse",
    "ict",
    "condenser",
)
LEFT_TO_THE_LIBRARY = ("condenser",)  # it asks for the states of an earlier layer


@pytest.mark.parametrize("name", [*PRETRAININGS, *LEFT_TO_THE_LIBRARY])
def test_losses_and_gradient_of_a_papers_pretraining_are_those_of_the_padded_batch(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr(generator, "sampled", pretraining.likeliest)
    made = pretraining.objective(name, tmp_path)
    [batch] = pretraining.batches(made, ((0, pretraining.COUNT),))
    held_against_the_padded(made, batch, packs=name not in LEFT_TO_THE_LIBRARY)
