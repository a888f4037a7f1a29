import pytest
import torch

from repro.errors import DataError, UsageError
from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, load_tokenizer, save_model
from repro.retrieval.nn.cross_encoder import load_cross_encoder
from repro.retrieval.nn.encoder import (
    Encoder,
    Projector,
    load_text_encoder,
    pooled,
    saved_projector,
    span_means,
)
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


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


def test_two_layers_are_a_feed_forward_network_before_the_tanh_and_are_read_back(tmp_path):
    projector = Projector(6, architecture="nonlinear", layers=2, initializer_range=0.5)
    hidden = torch.randn(3, 6)
    inner = torch.nn.functional.gelu(hidden @ projector.inner.weight.T + projector.inner.bias)
    expected = torch.tanh(inner @ projector.dense.weight.T + projector.dense.bias)
    close(projector(hidden), expected)
    projector.save(tmp_path, encodes=False)
    loaded, _ = saved_projector(tmp_path)
    close(loaded(hidden), expected)


@pytest.fixture
def folder(tmp_path):
    save_model(tiny_masked_lm(), tiny_tokenizer(), tmp_path / "model")
    return tmp_path / "model"


INPUTS = {
    "input_ids": torch.tensor([[2, 10, 11, 12, 3], [2, 20, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
}


def test_a_projector_is_applied_only_if_texts_are_encoded_with_it(folder):
    projector = Projector(32, architecture="nonlinear", layers=1, initializer_range=0.5)
    bare = load_text_encoder(folder, pooling="cls").eval()(INPUTS)
    projector.save(folder, encodes=False)
    assert (load_text_encoder(folder, pooling="cls").eval()(INPUTS) == bare).all()
    projector.save(folder, encodes=True)
    close(load_text_encoder(folder, pooling="cls").eval()(INPUTS), projector(bare))


def test_an_encoder_has_no_pooler_and_its_weights_are_those_of_the_checkpoint(folder):
    encoder, whole = load_encoder(folder), load_masked_lm(folder)
    assert encoder.pooler is None
    for name, tensor in encoder.state_dict().items():
        assert (whole.state_dict()[f"bert.{name}"] == tensor).all(), name


def test_loading_prints_nothing(folder, capfd):
    load_encoder(folder)
    load_masked_lm(folder)
    load_tokenizer(folder)
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""


@pytest.mark.parametrize("load", [load_encoder, load_masked_lm, load_tokenizer, load_cross_encoder])
def test_a_folder_that_is_no_model_is_a_data_error(tmp_path, load):
    with pytest.raises(DataError, match="cannot be read as a model directory"):
        load(tmp_path / "nothing")


def test_pooling_reads_the_last_layer(folder):
    model = load_encoder(folder).eval()
    hidden = model(**INPUTS).last_hidden_state
    assert (Encoder(model, pooling="cls", projector=None)(INPUTS) == hidden[:, 0]).all()


@pytest.fixture
def hidden():
    return torch.randn(3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def test_cls_is_the_first_token_and_mean_leaves_padding_out(hidden):
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    assert (pooled(hidden, mask, pooling="cls") == hidden[:, 0]).all()
    mean = pooled(hidden, mask, pooling="mean")
    for text, count in enumerate((6, 3, 1)):
        close(mean[text], hidden[text, :count].mean(dim=0))


def test_an_unknown_pooling_is_a_usage_error(hidden):
    with pytest.raises(UsageError, match="Did you mean mean"):
        pooled(hidden, torch.ones(3, 6), pooling="means")


def test_span_means_are_means_of_slices(hidden):
    spans = torch.tensor([[[0, 6], [1, 3], [5, 6]], [[2, 4], [1, 2], [0, 1]], [[0, 0], [3, 6], [1, 5]]])
    found = span_means(hidden, spans)
    assert found.shape == (3, 3, 4)
    for text in range(3):
        for place, (first, end) in enumerate(spans[text].tolist()):
            slice_ = hidden[text, first:end]
            expected = slice_.mean(dim=0) if end > first else torch.zeros(4, dtype=torch.float64)
            close(found[text, place], expected)


def test_half_precision_tokens_are_averaged_in_float32():
    hidden = torch.ones(1, 3000, 1, dtype=torch.float16) * 30
    assert span_means(hidden, torch.tensor([[[0, 3000]]])).item() == 30  # the sum is beyond float16
