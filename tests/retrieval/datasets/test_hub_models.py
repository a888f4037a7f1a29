"""What is fetched of a model of the hub."""

import pytest

from repro.errors import BlockedError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets.fetching import offer
from repro.retrieval.datasets.hub_models import has_weights, wanted

OLD = ["README.md", "config.json", "pytorch_model.bin", "tf_model.h5", "vocab.txt", "flax_model.msgpack"]
NEW = [*OLD, "model.safetensors", "onnx/model.onnx"]


def test_pickled_weights_are_fetched_only_where_there_are_no_others():
    assert wanted(OLD) == ["config.json", "pytorch_model.bin", "vocab.txt"]
    assert wanted(NEW) == ["config.json", "model.safetensors", "vocab.txt"]


def test_a_modules_weights_are_its_own():
    files = [*NEW, "2_Dense/config.json", "2_Dense/pytorch_model.bin", "1_Pooling/config.json"]
    assert wanted(files) == [*sorted(files[-3:]), *wanted(NEW)]


def test_a_hub_that_does_not_answer_leaves_a_remedy(tmp_path, monkeypatch):
    import huggingface_hub

    def silent(self, name, revision):
        raise OSError("no route")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", silent)
    with pytest.raises(BlockedError, match=r"some/bert could not be fetched \(OSError: no route\)"):
        offer("model:some/bert").load(tmp_path, Progress())
    with pytest.raises(UsageError, match="is not the name of a hub model"):
        offer("model:../bert")


def test_weights_are_of_either_form_in_any_folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "training_args.bin").write_bytes(b"")
    assert not has_weights(tmp_path)
    (tmp_path / "0_Transformer").mkdir()
    (tmp_path / "0_Transformer/pytorch_model.bin").write_bytes(b"")
    assert has_weights(tmp_path)
