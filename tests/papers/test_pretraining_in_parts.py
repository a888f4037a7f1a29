from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import papers
from papers.simlm import generator
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.objective import BatchObjective, SumObjective
from repro.retrieval.training.parts import Parts, backward_in_parts
from repro.retrieval.training.process_group import rank
from tests.floats import close
from tests.killed import KILLS
from tests.papers.pretraining_in_parts import CASES, COUNT, PARTS, batches, likeliest, objective, rows

KINDS = [name for name in CASES if "," not in name]  # one of each; parts of all are tried below
MANY = (1, 2, 4, 8) if KILLS > 2 else (2, 8)  # parts of one batch: more of them every night
SHARES = (PARTS[:2], PARTS[2:]), (((0, 3),), ((3, COUNT),))  # of each process, in parts and not


@pytest.fixture(autouse=True)
def same_replacements(monkeypatch):
    monkeypatch.setattr(generator, "sampled", likeliest)


def whole(name, folder) -> dict[str, np.ndarray]:
    made = objective(name, folder)
    losses = made(*batches(made, ((0, COUNT),)))
    sum(losses.values()).backward()
    return found(made, losses)


GROUPED = {"token_loss": {"per": 2, "specials": False}}
ALL = {name: {} for name in CASES} | {
    f"{name}, means of 2": GROUPED for name in ("simlm", "simlm, joint", "enc-dec-rtd", "autoencoder")
}


@pytest.mark.parametrize("name", ALL)
def test_any_partition_of_a_batch_has_its_losses_and_gradient(name, tmp_path):
    """Some parts are one text in which nothing can be masked."""
    kind, numbers = name.removesuffix(", means of 2"), {}
    for parts in (0, *MANY):  # 0: as a whole, without the trainer's parts
        made = objective(kind, tmp_path, **ALL[name])
        size = 8 // (parts or 1)
        pieces = Parts(made.collate, Execution(micro_batch=size), getattr(made, "cut", None))(rows(count=8))
        if parts:
            losses = backward_in_parts(made, pieces, backward=torch.Tensor.backward)
        else:
            losses = made(*pieces)
            sum(losses.values()).backward()
        numbers[parts] = found(made, losses)
    most = max(abs(value).max() for value in numbers[0].values())
    assert max(abs(value).max() for key, value in numbers[0].items() if not key.startswith("loss")) > 1e-2
    for parts in MANY:
        close(numbers[parts], numbers[0], dtype=coarsest(name))
        if coarsest(name) == "float64":
            assert all(abs(numbers[parts][key] - v).max() < 1e-10 * most for key, v in numbers[0].items())


def found(made, losses) -> dict[str, np.ndarray]:
    gradients = {name: p.grad.numpy() for name, p in made.named_parameters() if p.grad is not None}
    return {f"loss {name}": loss.detach().numpy() for name, loss in losses.items()} | gradients


def coarsest(name: str) -> str:
    return "float32" if name.startswith("contextual") else "float64"  # a sparse vector is taken in float32


def shares(folder: Path) -> None:
    own = folder / str(rank())
    own.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "sampled", likeliest)
        for number, name in enumerate(KINDS):
            for way, parts in enumerate(SHARES):
                made = objective(name, own)
                own_batches = batches(made, parts[rank()])
                losses = backward_in_parts(made, own_batches, backward=torch.Tensor.backward)
                np.savez(own / f"{number}-{way}.npz", **found(made, losses))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, in_two_processes):
    folder = tmp_path_factory.mktemp("shares")
    in_two_processes(shares, folder)
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_two_processes_have_the_losses_and_gradient_of_one_with_the_whole_batch(shared, name, tmp_path):
    expected, paths = whole(name, tmp_path), list(shared.glob(f"?/{KINDS.index(name)}-?.npz"))
    assert len(paths) == 4
    for path in paths:
        with np.load(path) as kept:
            close({key: kept[key] for key in kept.files}, expected, dtype=coarsest(name))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("simcse", "costa"))])
def test_a_cached_gradient_is_the_uncached_one_of_the_same_dropout(name, tmp_path):
    gradients = {}
    for way in ("cached", "uncached", "other dropout"):
        made = objective(name, tmp_path, dropout=0.3).train()
        torch.manual_seed(8 if way == "other dropout" else 7)
        if way == "cached":
            backward_in_parts(made, batches(made), backward=torch.Tensor.backward)
        else:
            encoded = [made.represent(part) for part in batches(made)]
            together = {key: torch.cat([some[key] for some in encoded]) for key in encoded[0]}
            sum(made.losses(together).values()).backward()
        gradients[way] = found(made, {})
    close(gradients["cached"], gradients["uncached"])
    assert any(
        abs(g - gradients["other dropout"][key]).max() > 1e-3 for key, g in gradients["cached"].items()
    )


def test_every_objective_of_the_papers_can_be_parted_and_is_tried_here(tmp_path):
    tried = {type(objective(name, tmp_path)) for name in CASES}
    there = set()
    for path in sorted(Path(papers.__path__[0]).rglob("*.py")):
        module = importlib.import_module(
            ".".join(("papers", *path.relative_to(papers.__path__[0]).with_suffix("").parts))
        )
        kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
        there |= {kind for kind in kinds if issubclass(kind, nn.Module) and hasattr(kind, "collate")}
    # those of fine-tuning, which load a model of their own, are tried with their parents in tests/nn
    there = {kind for kind in there if kind.__module__.startswith("papers.") and not hasattr(kind, "load")}
    forms = (SumObjective, BatchObjective)
    assert all(isinstance(objective(name, tmp_path), forms) for name in CASES)
    assert there - tried == set()
