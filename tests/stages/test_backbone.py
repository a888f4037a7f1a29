from __future__ import annotations

import pytest

from repro.errors import BlockedError
from repro.nn.checkpoint import load_encoder, load_masked_lm
from repro.stages import backbone
from tests.tiny_models import save_tiny_model, tiny_masked_lm, tiny_tokenizer


def params(path=None):
    source = {"kind": "folder", "path": str(path)} if path else {"kind": "hub"}
    return {"name": "someone/checkpoint", "revision": "main", "source": source}


def test_a_checkpoint_in_a_folder_is_taken_with_its_weights_and_tokenizer(model, tmp_path, progress):
    facts = backbone.run(params(model / "model"), {}, tmp_path, progress)
    assert facts["masked_language_head"] and facts["vocabulary"] == len(tiny_tokenizer())
    given, taken = load_masked_lm(model / "model"), load_masked_lm(tmp_path / "model")
    assert all((taken.state_dict()[name] == tensor).all() for name, tensor in given.state_dict().items())
    assert (tmp_path / "model/model.safetensors").exists()


def test_a_checkpoint_without_a_head_is_written_without_one(tmp_path, progress):
    from safetensors import safe_open

    source = tmp_path / "source"
    tiny_masked_lm().bert.save_pretrained(source)
    tiny_tokenizer().save_pretrained(source)
    (tmp_path / "out").mkdir()
    facts = backbone.run(params(source), {}, tmp_path / "out", progress)
    assert not facts["masked_language_head"]
    with safe_open(tmp_path / "out/model/model.safetensors", framework="pt") as file:
        assert not [name for name in file.keys() if "cls" in name]  # noqa: SIM118 (not a dict)
    assert load_encoder(tmp_path / "out/model").config.hidden_size == 32


def test_a_half_precision_checkpoint_becomes_float32(tmp_path, progress):
    source = tmp_path / "source"
    tiny_masked_lm().half().save_pretrained(source)
    tiny_tokenizer().save_pretrained(source)
    (tmp_path / "out").mkdir()
    backbone.run(params(source), {}, tmp_path / "out", progress)
    assert {str(tensor.dtype) for tensor in load_masked_lm(tmp_path / "out/model").parameters()} == {
        "torch.float32"
    }


def test_a_folder_without_a_checkpoint_is_blocked_with_a_remedy(tmp_path, progress):
    with pytest.raises(BlockedError) as caught:
        backbone.run(params(tmp_path / "nowhere"), {}, tmp_path, progress)
    assert "is not a checkpoint of someone/checkpoint" in caught.value.cause
    assert caught.value.remedy.startswith("put config.json")


def test_a_hub_that_cannot_be_reached_is_blocked_with_a_remedy(tmp_path, progress, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BlockedError) as caught:
        backbone.run(params(), {}, tmp_path, progress)
    assert "\n" not in str(caught.value)
    assert "someone/checkpoint could not be fetched" in caught.value.cause
    assert "$REPRO_DATA/models/someone/checkpoint" in caught.value.remedy


def test_a_checkpoint_whose_weights_do_not_fit_is_blocked_and_never_filled_up_at_random(tmp_path, progress):
    """A folder that names BERT and holds another model's weights."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "foreign"
    save_tiny_model(folder)
    weights = load_file(folder / "model" / "model.safetensors")
    renamed = {f"encoder_{name}": torch.clone(tensor) for name, tensor in weights.items()}
    save_file(renamed, folder / "model" / "model.safetensors", metadata={"format": "pt"})
    (tmp_path / "out").mkdir()
    with pytest.raises(BlockedError, match="do not fit"):
        backbone.run(params(folder / "model"), {}, tmp_path / "out", progress)
