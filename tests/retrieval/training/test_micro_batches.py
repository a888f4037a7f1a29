from pathlib import Path

import numpy as np
import pytest
import torch

from repro.retrieval.nn.bi_encoder import BiEncoderContrastive
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.training.parts import backward_in_parts
from repro.retrieval.training.process_group import rank
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COUNT, NAMES, batch_in_parts, objective


def whole(name):
    made = objective(name)
    [batch] = batch_in_parts(made, name, COUNT)
    losses = made(batch)
    sum(losses.values()).backward()
    return made, losses


def numbers(made, losses) -> dict[str, np.ndarray]:
    return {f"loss {key}": value.detach().numpy() for key, value in losses.items()} | gradients(made)


def gradients(made) -> dict[str, np.ndarray]:
    return {name: p.grad.numpy() for name, p in made.named_parameters() if p.grad is not None}


SHARES = [
    *((name, 2) for name in NAMES),
    *((name, COUNT) for name in ("mlm", "neighbours", "in-batch", "views")),
]


def shares(folder: Path) -> None:
    for number, (name, size) in enumerate(SHARES):
        made = objective(name)
        own = batch_in_parts(made, name, size, ((0, 1, 2), (3, 4))[rank()])
        losses = backward_in_parts(made, own, backward=torch.Tensor.backward)
        np.savez(folder / f"{number}-{rank()}.npz", **numbers(made, losses))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, in_two_processes):
    folder = tmp_path_factory.mktemp("shares")
    in_two_processes(shares, folder)
    return folder


@pytest.mark.parametrize(("name", "size"), SHARES)
def test_two_processes_have_the_losses_and_gradient_of_one_with_the_whole_batch(shared, name, size):
    made, losses = whole(name)
    assert max(abs(g).max() for g in gradients(made).values()) > 1e-2
    for process in (0, 1):
        found = np.load(shared / f"{SHARES.index((name, size))}-{process}.npz")
        close(dict(found), numbers(made, losses))


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_batch_have_the_losses_and_gradient_of_the_whole(name, size):
    expected, losses = whole(name)
    made = objective(name)
    pieces = batch_in_parts(made, name, size)
    found = backward_in_parts(made, pieces, backward=torch.Tensor.backward)
    close(numbers(made, found), numbers(expected, losses))


@pytest.mark.parametrize("name", ["contrast", "in-batch", "four blocks", "distillation", "views"])
def test_a_cached_gradient_is_the_uncached_one_of_the_same_dropout(name):
    found = {}
    for way in ("cached", "uncached", "other dropout"):
        made = objective(name, dropout=0.3).train()
        pieces = batch_in_parts(made, name, 2)
        torch.manual_seed(8 if way == "other dropout" else 7)
        if way == "cached":
            backward_in_parts(made, pieces, backward=torch.Tensor.backward)
            next_draw = torch.rand(1)
        else:
            encoded = [made.represent(piece) for piece in pieces]
            together = {key: torch.cat([some[key] for some in encoded]) for key in encoded[0]}
            sum(made.losses(together).values()).backward()
            found[f"next {way}"] = torch.rand(1)
        found[way] = gradients(made)
    close(found["cached"], found["uncached"])
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
    backward_in_parts(made, batch_in_parts(made, "in-batch", 2), backward=torch.Tensor.backward)
    assert graphs == [(2, False), (2, False), (1, False), (2, True), (2, True), (1, True)]


def test_a_part_without_a_masked_token_changes_nothing_and_a_batch_without_has_no_loss():
    made, again = objective("mlm"), objective("mlm")
    [batch], pieces = batch_in_parts(made, "mlm", COUNT), batch_in_parts(made, "mlm", 1)
    batch["labels"][0], pieces[0]["labels"][0] = IGNORED, IGNORED
    made(batch)["mlm"].backward()
    backward_in_parts(again, pieces, backward=torch.Tensor.backward)
    close(gradients(again), gradients(made))
    for piece in pieces:
        piece["labels"][:] = IGNORED
    assert backward_in_parts(objective("mlm"), pieces, backward=torch.Tensor.backward) == {}


@pytest.mark.parametrize("name", ["mlm", "in-batch", "cross-encoder"])
def test_parts_in_half_precision_have_nearly_the_gradient_of_the_whole(name):
    expected, _ = whole(name)
    made, types = objective(name), []
    for layer in made.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(lambda layer, given, out: types.append(out.dtype))
    if name == "in-batch":
        losses = made.losses
        made.losses = lambda rows: (types.extend(("met in", x.dtype) for x in rows.values()), losses(rows))[1]
    how = {"backward": torch.Tensor.backward, "autocast": lambda: torch.autocast("cpu", torch.bfloat16)}
    backward_in_parts(made, batch_in_parts(made, name, 2), **how)
    assert set(types) == {torch.bfloat16} | ({("met in", torch.float32)} if name == "in-batch" else set())
    found, single = gradients(made), gradients(expected)
    assert found.keys() == single.keys()
    ours, theirs = (np.concatenate([g[key].ravel() for key in single]) for g in (found, single))
    assert 0.99 < ours @ theirs / (np.linalg.norm(ours) * np.linalg.norm(theirs)) < 1


def test_two_readings_of_a_part_differ_as_those_of_the_whole_do():
    assert whole("r-drop")[1]["r_drop"] > 1e-3
