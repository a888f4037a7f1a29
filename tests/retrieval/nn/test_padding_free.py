import numpy as np
import pytest
import torch
import transformers as hf
from torch.utils._python_dispatch import TorchDispatchMode

from repro.retrieval.nn import packed_texts
from repro.retrieval.nn.encoder import pooled
from repro.retrieval.nn.packed_texts import PackedTexts
from repro.retrieval.nn.padding_free import Layout, can_be_packed, padding_free, text_by_text
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COUNT, batch_in_parts, cached_is_uncached, objective

SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
MODELS = {
    "bert": lambda: hf.BertModel(hf.BertConfig(**SIZES)),
    "roberta": lambda: hf.RobertaModel(hf.RobertaConfig(**SIZES, pad_token_id=1)),
    "xlm-roberta": lambda: hf.XLMRobertaModel(hf.XLMRobertaConfig(**SIZES, pad_token_id=1)),
}
LENGTHS = (9, 9, 9, 5, 7, 7, 2, 1)


def made(name: str) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = MODELS[name]().double().eval()
        for values in model.parameters():
            values.data += 0.3 * torch.randn_like(values)
    return model


def texts(name: str) -> dict[str, torch.Tensor]:
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
        hidden = model(**inputs).last_hidden_state
        return pooled(hidden, inputs["attention_mask"], pooling=pooling).numpy()


@pytest.mark.parametrize("tokens", [1, 20, 1000])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_those_of_the_padded_model_with_positions_counted_in_each_text(
    name, pooling, tokens, monkeypatch
):
    monkeypatch.setitem(packed_texts.TOKENS, "cpu", tokens)
    model, inputs = made(name), texts(name)
    vectors = PackedTexts(model, pooling=pooling)(inputs).numpy()
    close(vectors, padded(model, inputs, pooling))


@pytest.mark.parametrize(("pooling", "last"), [("cls", len(LENGTHS)), ("mean", sum(LENGTHS))])
def test_no_layer_computes_padding_and_the_last_only_what_is_pooled(pooling, last):
    model, seen = made("bert"), []
    for layer in model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda part, given, out: seen.append(len(out)))
    PackedTexts(model, pooling=pooling)(texts("bert"))
    assert seen == [sum(LENGTHS), sum(LENGTHS), last]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_largest_states_of_a_layer_are_those_of_a_few_tokens_at_a_time(monkeypatch, pooling):
    model, inputs, seen = made("bert"), texts("bert"), []
    plain = PackedTexts(model, pooling=pooling)(inputs)
    for layer in model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda part, given, out: seen.append(len(out)))
    assert packed_texts.ROWS["cpu"] < packed_texts.TOKENS["cpu"]
    monkeypatch.setitem(packed_texts.ROWS, "cpu", 16)
    close(PackedTexts(model, pooling=pooling)(inputs), plain)
    last = sum(LENGTHS) if pooling == "mean" else len(LENGTHS)
    assert max(seen) == 16 and sum(seen) == 2 * sum(LENGTHS) + last


def test_other_architectures_and_decoders_are_not_packed():
    assert can_be_packed(made("roberta"))
    assert not can_be_packed(hf.BertModel(hf.BertConfig(**SIZES, is_decoder=True)))
    assert not can_be_packed(hf.BertModel(hf.BertConfig(**SIZES | {"num_hidden_layers": 0})))
    small = {"vocab_size": 50, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24}
    assert not can_be_packed(hf.DistilBertModel(hf.DistilBertConfig(**small)))


def test_the_gradient_of_texts_of_many_lengths_is_written_once_for_each_token():
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


NAMES = ("mlm", "neighbours", "contrast", "in-batch", "four blocks", "views", "cross-encoder")


def in_float64(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: v.double() if v.is_floating_point() else v for name, v in batch.items()}


def trained(made: torch.nn.Module, batch: dict, wanted: bool) -> tuple[dict, dict, int, bool]:
    read = []
    names = [name for name, _ in made.named_modules() if name.endswith("word_embeddings")]
    hook = made.get_submodule(names[0]).register_forward_hook(
        lambda layer, given, out: read.append(given[0].numel())
    )
    made.zero_grad()
    torch.manual_seed(1)
    with padding_free(made, wanted) as packed:
        losses = made(batch)
        sum(losses.values()).backward()
    hook.remove()
    gradients = {name: p.grad.numpy().copy() for name, p in made.named_parameters() if p.grad is not None}
    return {name: loss.item() for name, loss in losses.items()}, gradients, sum(read), packed.used


def held_against_the_padded(made: torch.nn.Module, batch: dict, *, dtype="float64", packs=True) -> None:
    losses, gradients, tokens, used = trained(made, batch, wanted=False)
    assert not used
    found, same, fewer, used = trained(made, batch, wanted=True)
    close(found | same, losses | gradients, dtype=dtype)
    assert used == packs and (fewer < tokens if packs else fewer == tokens)


@pytest.mark.parametrize("name", NAMES)
def test_losses_and_gradient_are_those_of_the_padded_batch_from_fewer_tokens(name):
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    dtype = "float32" if name == "cross-encoder" else "float64"
    held_against_the_padded(made, in_float64(batch), dtype=dtype)


@pytest.mark.parametrize(("pooling", "rows"), [("cls", "texts"), ("mean", "tokens")])
def test_the_last_layer_is_computed_for_the_tokens_that_are_pooled(pooling, rows):
    made = objective("in-batch")
    made.encoder.pooling = pooling
    [batch] = batch_in_parts(made, "in-batch", COUNT)
    read = []
    last = made.encoder.model.encoder.layer[-1]
    last.output.register_forward_hook(lambda part, given, out: read.append(len(given[0])))
    with padding_free(made, True):
        made(batch)
    masks = [values for name, values in batch.items() if name.endswith("attention_mask")]
    tokens, texts = ([mask.sum().item() for mask in masks], [len(mask) for mask in masks])
    assert read == {"texts": texts, "tokens": tokens}[rows]


@pytest.mark.parametrize("name", ["in-batch", "views"])
def test_a_cached_gradient_without_padding_is_the_uncached_one_of_the_same_dropout(name):
    cached_is_uncached(name, padding_free)


@pytest.mark.parametrize("name", MODELS)
def test_states_and_gradients_of_every_architecture_are_the_padded_ones_with_its_positions(name):
    model, inputs = made(name), texts(name)
    found = {}
    for wanted in (False, True):
        model.zero_grad()
        with padding_free(model, wanted):
            output = model(**inputs)
        kept = inputs["attention_mask"].bool()
        (output.last_hidden_state[kept].pow(3).sum() + output.pooler_output.pow(3).sum()).backward()
        found[wanted] = [output.last_hidden_state[kept].detach(), *(p.grad for p in model.parameters())]
    close(*(dict(enumerate(found[way])) for way in (True, False)))


def test_the_library_is_back_behind_the_context_even_by_an_error():
    model, inputs = made("bert"), texts("bert")
    with pytest.raises(RuntimeError), padding_free(model, True) as packed:
        model(input_ids=inputs["input_ids"], attention_mask=torch.ones_like(inputs["input_ids"]))
        assert not packed.used
        raise RuntimeError
    assert "forward" not in vars(model)
