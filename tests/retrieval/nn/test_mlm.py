from __future__ import annotations

import numpy as np
import pytest

from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer
from repro.retrieval.nn.objectives import MaskedLanguageModel
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

MASKING = {"rate": 0.3, "mask": 0.8, "random": 0.1}


def objective(**changes):
    options = {"masking": MASKING, "reduction": "mean", "length": 16, "seed": 3} | changes
    return MaskedLanguageModel(tiny_masked_lm(dropout=0.0), tiny_tokenizer(), **options)


def rows(count=4, length=20, epoch=0):
    generator = np.random.default_rng(1)
    return [
        {"input_ids": generator.integers(10, 60, length), "index": index, "epoch": epoch}
        for index in range(count)
    ]


def test_the_loss_is_that_of_transformers_own_masked_model():
    mlm = objective()
    batch = mlm.collate(rows())
    out = mlm.encoder(batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"])
    close(mlm(batch)["mlm"], out.loss)


def test_texts_are_cut_to_the_length_with_its_special_tokens():
    assert objective().collate(rows())["clean_ids"].shape == (4, 16)


def test_masks_change_with_the_epoch_the_text_and_the_seed_and_only_with_them():
    made, other = objective(), objective(seed=4)
    first, again, later = (made.collate(rows(epoch=epoch))["labels"] for epoch in (0, 0, 1))
    assert (first == again).all() and (first != later).any()
    assert len({tuple(row) for row in (first >= 0).tolist()}) == 4  # each text has places of its own
    assert ((other.collate(rows())["labels"] >= 0) != (first >= 0)).any()


def test_a_batch_without_masked_tokens_has_no_loss():
    mlm = objective(masking=MASKING | {"rate": 0.0})
    assert mlm(mlm.collate(rows())) == {}


def test_what_is_kept_loads_with_its_head(tmp_path):
    mlm = objective()
    mlm.save(tmp_path / "model")
    again = load_masked_lm(tmp_path / "model")
    for name, tensor in mlm.encoder.state_dict().items():
        assert (again.state_dict()[name] == tensor).all(), name
    assert load_tokenizer(tmp_path / "model").get_vocab() == tiny_tokenizer().get_vocab()
    assert not list((tmp_path / "model").glob("*.bin"))


@pytest.mark.parametrize("position", [1, 5])
def test_only_masked_positions_reach_the_vocabulary(position):
    mlm = objective()
    batch = mlm.collate(rows(count=1))
    batch["labels"][:] = -100
    batch["labels"][0, position] = 20
    seen = []
    mlm.encoder.cls.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    mlm(batch)
    assert [tuple(hidden.shape) for hidden in seen] == [(1, 32)]
