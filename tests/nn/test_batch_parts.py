from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from repro.nn.across_processes import gathered, rank, sum_gradients
from repro.nn.batch_parts import backward_in_parts, parts
from repro.nn.bi_encoder import BiEncoderContrastive
from repro.nn.mlm import MaskedLanguageModel
from tests.nn.parted_objectives import COUNT, NAMES, Texts, objective
from tests.two_processes import in_two_processes


def batch_for(made, name):
    return made.collate(Texts(name).__getitems__([(0, index) for index in range(COUNT)]))


def whole(name, *, dropout=0.0):
    """The objective after its batch's gradient, and the batch's losses."""
    made = objective(name, dropout=dropout)
    losses = made(batch_for(made, name))
    sum(losses.values()).backward()
    return made, losses


def gradients(made) -> dict[str, np.ndarray]:
    return {name: p.grad.numpy() for name, p in made.named_parameters() if p.grad is not None}


def same(found: dict, expected: dict, tolerance: float) -> None:
    assert found.keys() == expected.keys() and len(found) > 0
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def shares(folder: Path) -> None:
    """One process of two: losses and gradients of every objective, of its share of the batch."""
    for number, name in enumerate(NAMES):
        for size in (COUNT, 2):
            made = objective(name)
            own = parts(batch_for(made, name), 3)[rank()]
            losses = backward_in_parts(made, own, size=size, backward=torch.Tensor.backward)
            sum_gradients(made.parameters())
            kept = {f"loss {key}": value.numpy() for key, value in losses.items()}
            np.savez(folder / f"{number}-{size}-{rank()}.npz", **kept, **gradients(made))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shares")
    in_two_processes(shares, folder)
    return folder


@pytest.mark.parametrize("size", [COUNT, 2])
@pytest.mark.parametrize("name", NAMES)
def test_two_processes_have_the_losses_and_gradient_of_one_with_the_whole_batch(shared, name, size):
    made, losses = whole(name)
    expected = {f"loss {key}": value.detach().numpy() for key, value in losses.items()} | gradients(made)
    assert max(abs(g).max() for g in gradients(made).values()) > 1e-2
    for process in (0, 1):
        found = np.load(shared / f"{NAMES.index(name)}-{size}-{process}.npz")
        same({key: found[key] for key in found.files}, expected, 1e-6)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_batch_have_the_losses_and_gradient_of_the_whole(name, size):
    expected, losses = whole(name)
    made = objective(name)
    found = backward_in_parts(made, batch_for(made, name), size=size, backward=torch.Tensor.backward)
    same(found, {key: value.detach().numpy() for key, value in losses.items()}, 1e-6)
    same(gradients(made), gradients(expected), 1e-5)


@pytest.mark.parametrize("name", ["costa", "in-batch", "four blocks", "distillation", "views"])
def test_a_cached_gradient_is_the_uncached_one_of_the_same_dropout(name):
    size, found = 2, {}
    for way in ("cached", "uncached", "other dropout"):
        made = objective(name, dropout=0.3).train()
        batch = batch_for(made, name)
        torch.manual_seed(8 if way == "other dropout" else 7)
        if way == "cached":
            backward_in_parts(made, batch, size=size, backward=torch.Tensor.backward)
            next_draw = torch.rand(1)
        else:
            encoded = [made.represent(part) for part in parts(batch, size)]
            together = {key: torch.cat([some[key] for some in encoded]) for key in encoded[0]}
            sum(made.losses(together).values()).backward()
            found[f"next {way}"] = torch.rand(1)
        found[way] = gradients(made)
    same(found["cached"], found["uncached"], 1e-5)
    assert next_draw == found["next uncached"]
    other = found["other dropout"]
    assert any(abs(g - other[key]).max() > 1e-3 for key, g in found["uncached"].items())


def test_only_one_part_has_a_graph_at_a_time(monkeypatch):
    made = objective("in-batch")
    graphs, represent = [], BiEncoderContrastive.represent

    def watched(self, batch):
        found = represent(self, batch)
        graphs.append((len(found["queries"]), found["queries"].requires_grad))
        return found

    monkeypatch.setattr(BiEncoderContrastive, "represent", watched)
    backward_in_parts(made, batch_for(made, "in-batch"), size=2, backward=torch.Tensor.backward)
    assert graphs == [(2, False), (2, False), (1, False), (2, True), (2, True), (1, True)]


def test_a_part_without_a_masked_token_changes_nothing_and_a_batch_without_has_no_loss():
    made = objective("mlm")
    batch = batch_for(made, "mlm")
    batch["labels"][0] = -100
    made(batch)["mlm"].backward()
    again = objective("mlm")
    backward_in_parts(again, batch, size=1, backward=torch.Tensor.backward)
    same(gradients(again), gradients(made), 1e-5)
    batch["labels"][:] = -100
    assert backward_in_parts(objective("mlm"), batch, size=1, backward=torch.Tensor.backward) == {}


def test_the_mean_of_parts_means_would_be_another_gradient():
    made = objective("mlm")
    numbers = [made.denominators(part)["mlm"] for part in parts(batch_for(made, "mlm"), 1)]
    assert len(set(numbers)) > 1 and isinstance(made, MaskedLanguageModel)


def test_one_process_has_what_it_gave():
    vectors = torch.ones(2, 3)
    assert gathered(vectors) is vectors and rank() == 0
