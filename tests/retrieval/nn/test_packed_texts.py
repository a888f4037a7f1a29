from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from repro.retrieval.nn import packed_texts
from repro.retrieval.nn.encoder import pooled
from repro.retrieval.nn.packed_layers import Layout, can_be_packed, text_by_text
from repro.retrieval.nn.packed_texts import PackedTexts
from tests.floats import close

SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SIZES)),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES, pad_token_id=1)),
    "xlm-roberta": lambda: XLMRobertaModel(XLMRobertaConfig(**SIZES, pad_token_id=1)),
}
LENGTHS = (9, 9, 9, 5, 7, 7, 2, 1)


def made(name: str) -> torch.nn.Module:
    """A random model in float64, whose weights are so large that each position and segment tells."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = MODELS[name]().double().eval()
        for values in model.parameters():
            values.data += 0.3 * torch.randn_like(values)
    return model


def texts(name: str) -> dict[str, torch.Tensor]:
    """Tokens of texts of ``LENGTHS``, padded as the tokenizers of these models do."""
    generator = torch.Generator().manual_seed(5)
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)).long()
    ids = torch.randint(2, 50, mask.shape, generator=generator)
    ids[4, 3] = 1  # a text may name what is RoBERTa's padding
    inputs = {"input_ids": ids.where(mask.bool(), 0 if name == "bert" else 1), "attention_mask": mask}
    if name == "bert":
        inputs["token_type_ids"] = torch.randint(0, 2, mask.shape, generator=generator) * mask
    return inputs


def padded(model, inputs, pooling: str) -> np.ndarray:
    with torch.inference_mode():
        output = model(**inputs)
        if pooling == "pooler":
            return output.pooler_output.numpy()
        return pooled(output.last_hidden_state, inputs["attention_mask"], pooling=pooling).numpy()


@pytest.mark.parametrize("tokens", [1, 20, 1000])
@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_those_of_the_padded_model_with_positions_counted_in_each_text(name, pooling, tokens):
    model, inputs = made(name), texts(name)
    vectors = PackedTexts(model, pooling=pooling, tokens=tokens)(inputs).numpy()
    close(vectors, padded(model, inputs, pooling))


@pytest.mark.parametrize(("pooling", "last"), [("cls", len(LENGTHS)), ("mean", sum(LENGTHS))])
def test_no_layer_computes_padding_and_the_last_only_what_is_pooled(pooling, last):
    model, seen = made("bert"), []
    for layer in model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda part, given, out: seen.append(len(out)))
    PackedTexts(model, pooling=pooling, tokens=1000)(texts("bert"))
    assert seen == [sum(LENGTHS), sum(LENGTHS), last]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_largest_states_of_a_layer_are_those_of_a_few_tokens_at_a_time(monkeypatch, pooling):
    """Freed blocks of many sizes would leave holes in memory: twice what encoding needs."""
    model, inputs, seen = made("bert"), texts("bert"), []
    plain = PackedTexts(model, pooling=pooling)(inputs)
    for layer in model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda part, given, out: seen.append(len(out)))
    assert packed_texts.ROWS["cpu"] < packed_texts.TOKENS["cpu"]
    monkeypatch.setitem(packed_texts.ROWS, "cpu", 16)
    close(PackedTexts(model, pooling=pooling)(inputs), plain)
    last = sum(LENGTHS) if pooling == "mean" else len(LENGTHS)
    assert max(seen) == 16 and sum(seen) == 2 * sum(LENGTHS) + last


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_vector_depends_on_the_others_of_its_batch_by_rounding_only(pooling):
    model, inputs = made("bert").float(), texts("bert")
    together = PackedTexts(model, pooling=pooling)(inputs).numpy()
    for place, length in enumerate(LENGTHS):
        alone = {name: values[place : place + 1, :length] for name, values in inputs.items()}
        vector = PackedTexts(model, pooling=pooling)(alone)[0].numpy()
        assert abs(vector - together[place]).max() <= 2e-6 * abs(vector).max()


def test_other_architectures_and_decoders_are_not_packed():
    assert can_be_packed(made("roberta"))
    assert not can_be_packed(BertModel(BertConfig(**SIZES, is_decoder=True)))
    assert not can_be_packed(BertModel(BertConfig(**SIZES | {"num_hidden_layers": 0})))
    small = {"vocab_size": 50, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24}
    assert not can_be_packed(DistilBertModel(DistilBertConfig(**small)))


def test_the_gradient_of_texts_of_many_lengths_is_written_once_for_each_token():
    """Tensors as large as all tokens are as many, however many lengths there are."""

    class Whole(TorchDispatchMode):
        made = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **kwargs or {})
            self.made += isinstance(result, torch.Tensor) and len(result.shape) > 0 and len(result) == tokens
            return result

    counts = []
    for lengths in ([3, 4, 5], range(2, 12)):
        layout, tokens = Layout(list(lengths), torch.device("cpu")), sum(lengths)
        rows = torch.randn(3, tokens, 2, 8, requires_grad=True)
        with Whole() as whole:
            text_by_text(*rows.unbind(), layout).sum().backward()
        counts.append(whole.made)
    assert counts[0] == counts[1]
