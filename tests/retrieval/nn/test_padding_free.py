from __future__ import annotations

import pytest
import torch

from papers.simlm import generator
from repro.retrieval.nn.padding_free import padding_free
from tests.floats import close
from tests.papers import pretraining_in_parts as pretraining
from tests.retrieval.nn import test_packed_texts as packed_texts
from tests.retrieval.nn.parted_objectives import COUNT, batch_in_parts, cached_is_uncached, objective

NAMES = ("mlm", "neighbours", "costa", "in-batch", "four blocks", "views", "cross-encoder")
PRETRAININGS = ("cpdae", "simlm", "contextual-autoencoder", "seed", "prop", "simcse", "ict", "condenser")
LEFT_TO_THE_LIBRARY = ("condenser",)  # it asks for the states of an earlier layer


def in_float64(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: v.double() if v.is_floating_point() else v for name, v in batch.items()}


def trained(made: torch.nn.Module, batch: dict, wanted: bool) -> tuple[dict, dict, int, bool]:
    """Losses, gradients, the tokens that the embeddings read, and whether anything was read end to end."""
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
    dtype = "float32" if name == "cross-encoder" else "float64"  # of its logits
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


@pytest.mark.parametrize("name", PRETRAININGS)
def test_losses_and_gradient_of_a_papers_pretraining_are_those_of_the_padded_batch(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr(generator, "sampled", pretraining.likeliest)
    made = pretraining.objective(name, tmp_path)
    [batch] = pretraining.batches(made, ((0, pretraining.COUNT),))
    held_against_the_padded(made, batch, packs=name not in LEFT_TO_THE_LIBRARY)


@pytest.mark.parametrize("name", ["in-batch", "views"])
def test_a_cached_gradient_without_padding_is_the_uncached_one_of_the_same_dropout(name):
    cached_is_uncached(name, padding_free)


@pytest.mark.parametrize("name", packed_texts.MODELS)
def test_states_and_gradients_of_every_architecture_are_the_padded_ones_with_its_positions(name):
    model, inputs = packed_texts.made(name), packed_texts.texts(name)
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
    model, inputs = packed_texts.made("bert"), packed_texts.texts("bert")
    with pytest.raises(RuntimeError), padding_free(model, True) as packed:
        model(input_ids=inputs["input_ids"], attention_mask=torch.ones_like(inputs["input_ids"]))
        assert not packed.used  # there is no padding to spare
        raise RuntimeError
    assert "forward" not in vars(model)
