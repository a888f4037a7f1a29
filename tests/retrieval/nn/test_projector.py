from __future__ import annotations

import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.projector import Projector, saved_projector
from tests.floats import close


@pytest.mark.parametrize("architecture", ["nonlinear", "linear"])
def test_a_projector_comes_back_as_it_was_saved(tmp_path, architecture):
    projector = Projector(6, architecture=architecture, layers=1, initializer_range=0.5)
    projector.save(tmp_path, encodes=architecture == "linear")
    again, encodes = saved_projector(tmp_path)
    hidden = torch.randn(2, 6)
    assert (again(hidden) == projector(hidden)).all()
    assert encodes is (architecture == "linear")


def test_the_nonlinear_one_is_berts_pooler():
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertPooler

    pooler = BertPooler(BertConfig(hidden_size=6, num_attention_heads=1))
    projector = Projector(6, architecture="nonlinear", layers=1, initializer_range=0.02)
    projector.load_state_dict(pooler.state_dict())
    hidden = torch.randn(3, 4, 6)
    close(projector(hidden[:, 0]), pooler(hidden))


def test_none_changes_nothing_and_leaves_no_file(tmp_path):
    projector = Projector(6, architecture="none", layers=1, initializer_range=0.02)
    hidden = torch.randn(2, 6)
    assert projector(hidden) is hidden and not list(projector.parameters())
    projector.save(tmp_path, encodes=True)
    assert saved_projector(tmp_path) is None


def test_an_unknown_projector_is_a_usage_error():
    with pytest.raises(UsageError, match="no projector 'deep'"):
        Projector(6, architecture="deep", layers=1, initializer_range=0.02)


def test_two_layers_are_a_feed_forward_network_before_the_tanh_and_are_read_back(tmp_path):
    projector = Projector(6, architecture="nonlinear", layers=2, initializer_range=0.5)
    hidden = torch.randn(3, 6)
    inner = torch.nn.functional.gelu(hidden @ projector.inner.weight.T + projector.inner.bias)
    expected = torch.tanh(inner @ projector.dense.weight.T + projector.dense.bias)
    close(projector(hidden), expected)
    projector.save(tmp_path, encodes=False)
    loaded, _ = saved_projector(tmp_path)
    close(loaded(hidden), expected)


def test_more_than_two_layers_are_a_usage_error():
    with pytest.raises(UsageError, match="'3'"):
        Projector(6, architecture="nonlinear", layers=3, initializer_range=0.02)


@pytest.mark.parametrize(("architecture", "layers"), [("linear", 1), ("nonlinear", 1), ("nonlinear", 2)])
def test_a_new_projector_starts_as_berts_linear_layers_do(architecture, layers):
    torch.manual_seed(0)
    projector = Projector(64, architecture=architecture, layers=layers, initializer_range=0.02)
    made = [projector.dense] if layers == 1 else [projector.inner, projector.dense]
    assert len(list(projector.parameters())) == 2 * len(made)
    for layer in made:
        assert layer.weight.std().item() == pytest.approx(0.02, rel=0.1) and not layer.bias.any()
