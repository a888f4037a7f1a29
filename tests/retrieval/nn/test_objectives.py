import copy

import numpy as np
import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer
from repro.retrieval.nn.objectives import MaskedLanguageModel, set_dropout, with_head
from tests.floats import apart, close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

MASKING = {"rate": 0.3, "mask": 0.8, "random": 0.1}


def test_the_checkpoints_own_head_is_left_alone():
    model = tiny_masked_lm()
    before = copy.deepcopy(model.state_dict())
    kept = with_head(model, "checkpoint")
    assert all(torch.equal(before[name], value) for name, value in kept.state_dict().items())


def test_a_new_head_leaves_the_encoder_and_the_shared_embeddings_alone():
    model = tiny_masked_lm()
    with torch.no_grad():
        model.cls.predictions.bias.fill_(3.0)
        model.cls.predictions.transform.LayerNorm.weight.fill_(3.0)
    before = copy.deepcopy(model.state_dict())
    torch.manual_seed(5)
    after = with_head(model, "new").state_dict()
    changed = {name for name, value in after.items() if not torch.equal(before[name], value)}
    assert changed and all(name.startswith("cls.predictions") for name in changed)
    assert "cls.predictions.decoder.weight" not in changed
    assert not after["cls.predictions.bias"].any()
    assert (after["cls.predictions.transform.LayerNorm.weight"] == 1).all()
    dense = after["cls.predictions.transform.dense.weight"]
    assert dense.std().item() == pytest.approx(model.config.initializer_range, rel=0.2)


def test_an_unknown_start_is_a_usage_error():
    with pytest.raises(UsageError, match="'random'"):
        with_head(tiny_masked_lm(), "random")


def encoded(model):
    batch = tiny_tokenizer()(["the river and the old bridge of stone"] * 2, return_tensors="pt")
    return model.base_model(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state


def test_a_model_without_dropout_gets_one_that_acts_in_training_only():
    model = tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.1)
    model.train()
    first, second = encoded(model)
    apart(first, second)
    model.eval()
    first, second = encoded(model)
    close(first, second)
    assert model.config.hidden_dropout_prob == 0.0


def test_no_dropout_makes_two_passes_equal():
    model = tiny_masked_lm(dropout=0.3)
    set_dropout(model, 0.0)
    model.train()
    first, second = encoded(model)
    close(first, second)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_attention_drops_so_many_of_its_weights(implementation):
    model = tiny_masked_lm(dropout=0.0)
    model.set_attn_implementation(implementation)
    set_dropout(model, 0.3)
    attention = model.train().base_model.encoder.layer[0].attention.self
    for projection in (attention.query, attention.key, attention.value):
        torch.nn.init.zeros_(projection.weight)
        torch.nn.init.zeros_(projection.bias)
    torch.nn.init.ones_(attention.value.bias)
    torch.manual_seed(1)
    mixed = attention(torch.zeros(64, 50, 32))[0]  # equal weights of 1/50: kept / 50 / 0.7
    kept = mixed * 50 * 0.7
    close(kept, kept.round())
    assert kept.mean().item() == pytest.approx(50 * 0.7, rel=0.01)


def test_weights_and_layer_norms_stay_as_they_are():
    model, untouched = tiny_masked_lm(dropout=0.0), tiny_masked_lm(dropout=0.0)
    set_dropout(model, 0.4)
    for (name, module), other in zip(model.named_modules(), untouched.modules(), strict=True):
        if isinstance(module, torch.nn.Dropout):
            assert (module.p, other.p) == (0.4, 0.0), name
        elif isinstance(module, torch.nn.LayerNorm):
            assert module.extra_repr() == other.extra_repr(), name
    assert all(torch.equal(mine, untouched.state_dict()[name]) for name, mine in model.state_dict().items())


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_that_is_no_probability_below_one_is_a_usage_error(rate):
    with pytest.raises(UsageError, match="dropout"):
        set_dropout(tiny_masked_lm(), rate)


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
    assert len({tuple(row) for row in (first >= 0).tolist()}) == 4
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
