import numpy as np
import pytest
import torch

from repro.errors import DataError
from repro.retrieval.nn.library_encoder import SpladeEncoder, released_encoder
from repro.retrieval.nn.text import tokenised
from tests.floats import close
from tests.tiny_models import save_tiny_model, tiny_text, tiny_tokenizer

TEXTS = [tiny_text(np.random.default_rng(3), words) for words in (2, 9, 40)]


def library_model(folder, *, pooling="mean", heads=(), length=24):
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import modules as parts

    save_tiny_model(folder / "plain")
    transformer = parts.Transformer(str(folder / "plain/model"), max_seq_length=length)
    with torch.random.fork_rng():
        torch.manual_seed(8)
        built = [getattr(parts, name)(*sizes) for name, *sizes in heads]
    pooled = parts.Pooling(32, pooling_mode=pooling)
    model = library.SentenceTransformer(modules=[transformer, pooled, *built])
    model.save(str(folder / "library"))
    return model


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize(
    "heads",
    [[], [("Dense", 32, 16)], [("Dense", 32, 32), ("LayerNorm", 32)], [("Dense", 32, 8), ("Normalize",)]],
)
def test_vectors_are_those_of_sentence_transformers(tmp_path, pooling, heads):
    theirs = library_model(tmp_path, pooling=pooling, heads=heads).encode(TEXTS)
    encoder = released_encoder(tmp_path / "library").eval()
    with torch.inference_mode():
        vectors = encoder(tokenised(tiny_tokenizer(), TEXTS, length=24))
    assert vectors.shape == theirs.shape
    close(vectors.numpy(), theirs)


def test_a_dense_layer_with_an_unknown_activation_is_refused(tmp_path):
    library_model(tmp_path, heads=[("Dense", 32, 16)])
    config = tmp_path / "library/2_Dense/config.json"
    config.write_text(config.read_text().replace("Tanh", "Nohardswish"))
    with pytest.raises(DataError, match="Nohardswish"):
        released_encoder(tmp_path / "library")


def test_missing_weights_of_a_head_are_said(tmp_path):
    library_model(tmp_path, heads=[("Dense", 32, 16)])
    (tmp_path / "library/2_Dense/model.safetensors").unlink()
    with pytest.raises(DataError, match="cannot be read as an encoder"):
        released_encoder(tmp_path / "library")


@pytest.mark.parametrize("name", ["config.json", "modules.json", "2_Dense/config.json", "model.safetensors"])
def test_a_broken_file_is_named(tmp_path, name):
    library_model(tmp_path, heads=[("Dense", 32, 16)])
    (tmp_path / "library" / name).write_text("{")
    with pytest.raises(DataError, match=rf"library: cannot be read as an encoder \({name}: "):
        released_encoder(tmp_path / "library")


def distilbert():
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    return DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=len(tiny_tokenizer()), dim=32, hidden_dim=64, n_layers=1, n_heads=2)
    )


@pytest.mark.parametrize("pooling, over_positions", [("max", max), ("sum", sum)])
def test_splade_is_the_highest_logit_of_any_position_or_their_sum_for_any_architecture(
    tmp_path, monkeypatch, pooling, over_positions
):
    monkeypatch.setattr("repro.retrieval.nn.library_encoder.POSITIONS", 30)
    model = distilbert().eval()
    model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    batch = tokenised(tiny_tokenizer(), TEXTS, length=24)
    with torch.inference_mode():
        vectors = SpladeEncoder(model, tiny_tokenizer(), pooling=pooling).eval()(batch)["sparse"]
        for text, vector in zip(TEXTS, vectors, strict=True):
            logits = model(**tokenised(tiny_tokenizer(), [text], length=24)).logits[0]  # (L, V), no padding
            by_hand = [over_positions(np.log1p(max(float(w), 0.0)) for w in entry) for entry in logits.T]
            close(vector.numpy(), by_hand)
    assert (vectors > 0).any() and (vectors == 0).any()
