from __future__ import annotations

import pytest
import torch

from papers.cpdae.decoder import FILE, LAYOUTS, MLPDecoder, saved_decoder, starting_decoder
from repro.errors import DataError, UsageError
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

SIZE = len(tiny_tokenizer())


def decoder(*, layout="mlm-head", start="new", seed=1):
    model = tiny_masked_lm()
    torch.manual_seed(seed)
    return model, starting_decoder(model, layout=layout, start=start)


def trained(made):
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return made


def equation_2(made, h):
    """z of one h, by loops over rows of the two matrices."""

    def gelu(x):
        return x * (1 + torch.erf(x / 2**0.5)) / 2

    def norm(x, layer):
        spread = ((x - x.mean()) ** 2).mean() + layer.eps
        return (x - x.mean()) / spread.sqrt() * layer.weight + layer.bias

    def linear(x, layer):
        rows = zip(layer.weight, layer.bias, strict=True)
        return torch.stack([(row * x).sum() + bias for row, bias in rows])

    if made.layout == "two-before":
        h = norm(gelu(linear(h, made.first)), made.first_norm)
    inner = gelu(linear(h, made.dense))
    if made.layout == "norm-last":
        return norm(linear(inner, made.vocabulary), made.norm)
    return linear(norm(inner, made.norm), made.vocabulary)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_are_equation_2(layout):
    made = trained(decoder(layout=layout)[1]).double()
    h = torch.randn(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    z = made(h)
    assert z.shape == (3, SIZE)
    close(z, torch.stack([equation_2(made, one) for one in h]))


def test_started_from_the_models_head_it_is_that_head_and_goes_its_own_way():
    torch.manual_seed(1)
    model = tiny_masked_lm()
    trained(model.cls)
    made = starting_decoder(model, layout="mlm-head", start="mlm-head")
    hidden = torch.randn(4, 32, generator=torch.Generator().manual_seed(0))
    close(made(hidden), model.cls(hidden))
    before = model.cls(hidden).detach()
    trained(made)
    assert (model.cls(hidden) == before).all()
    made(hidden).sum().backward()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_tied_it_has_the_embeddings_for_its_last_matrix_and_the_rest_new():
    model, made = decoder(start="tied")
    assert made.vocabulary.weight is model.base_model.embeddings.word_embeddings.weight
    assert (made.dense.weight != model.cls.predictions.transform.dense.weight).all()
    assert (made.vocabulary.bias == 0).all()


@pytest.mark.parametrize("start", ["new", "tied"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_saved_is_loaded_again_and_has_the_same_bytes_every_time(tmp_path, layout, start):
    model, made = decoder(layout=layout, start=start)
    trained(made).save(tmp_path)
    written = (tmp_path / FILE).read_bytes()
    again = saved_decoder(tmp_path, model.config)
    h = torch.randn(2, 32)
    assert again.layout == layout and (again(h) == made(h)).all()
    again.save(tmp_path)
    assert (tmp_path / FILE).read_bytes() == written


def test_a_missing_broken_or_foreign_decoder_is_a_data_error(tmp_path):
    from safetensors.torch import save_file

    model, made = decoder()
    with pytest.raises(DataError, match="cannot be read as a decoder"):
        saved_decoder(tmp_path, model.config)
    (tmp_path / FILE).write_bytes(b"no decoder")
    with pytest.raises(DataError, match="cannot be read as a decoder"):
        saved_decoder(tmp_path, model.config)
    save_file({"dense.weight": torch.zeros(1)}, tmp_path / FILE, metadata={"decoder": '{"kind": "weak"}'})
    with pytest.raises(DataError, match="cannot be read as a decoder"):
        saved_decoder(tmp_path, model.config)
    made.save(tmp_path)
    with pytest.raises(DataError, match="cannot be read as a decoder"):
        saved_decoder(tmp_path, tiny_masked_lm(hidden_size=16).config)


def test_a_wrong_layout_or_start_is_a_usage_error():
    with pytest.raises(UsageError, match="'norm-first' is not a known order of the decoder's layers"):
        MLPDecoder(tiny_masked_lm().config, layout="norm-first")
    with pytest.raises(UsageError, match="'old' is not a known start of the decoder"):
        decoder(start="old")
