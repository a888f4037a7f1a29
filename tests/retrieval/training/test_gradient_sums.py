"""Gradients of two processes, summed while others are computed: the same bits, whatever befalls a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed

from repro.retrieval.training import process_group
from repro.retrieval.training.process_group import GradientSums, OutOfMemory, in_memory, rank
from tests.floats import close
from tests.retrieval.training.test_out_of_memory import Capacity
from tests.retrieval.training.test_parts import trained, weights

WAYS = {"mlm": "", "contrast": "", "in-batch": "", "in-batch, cached": "1"}  # and examples of a part
CPU = torch.device("cpu")


def steps() -> Iterator[dict[str, list[int]]]:
    """Layers that each process uses in its last backward pass, step by step."""
    yield {"used": [[0, 1], [0, 1]]}
    yield {"used": [[0, 1], [0, 2]]}  # one that only one has, and one that nobody had before
    yield {"used": [[0], [0]]}
    yield {"used": [[], [0, 1, 2]]}  # a share without a loss
    yield {"used": [[0, 1, 2], [0, 1, 2]], "infinite": [1]}  # as where fp16 overflows
    yield {"used": [[0, 1, 2], [0, 1, 2]], "fails": [1]}
    yield {"used": [[0, 1, 2], [0, 1, 2]]}


def gradients(layers, used: list[int], factor: float) -> None:
    if used:
        rows = torch.ones(2, 4)
        for number in used:
            rows = layers[number](rows).sin()
        (rows.sum() * factor).backward()


def summed_by_hand() -> list[str]:
    """What differs from gradients that are added up after all of them were computed."""
    torch.manual_seed(0)
    layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
    sums, faults = GradientSums(layers.parameters()), []
    for number, step in enumerate(steps()):
        used, factor = (
            step["used"][rank()],
            float("inf") if rank() in step.get("infinite", []) else 1 + rank(),
        )
        layers.zero_grad()
        gradients(layers, used, factor)
        expected = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in layers.parameters()]
        for gradient in expected:
            distributed.all_reduce(gradient)
        layers.zero_grad()

        fails = rank() in step.get("fails", [])

        def work(used=used, factor=factor, fails=fails) -> None:
            sums.begin()
            if fails:
                gradients(layers, used[2:], factor)  # what it had sent by then
                raise torch.OutOfMemoryError("CUDA out of memory.")
            gradients(layers, used, factor)

        try:
            in_memory(work, CPU, sums=sums)
        except OutOfMemory:
            faults += [] if "fails" in step else [f"step {number} ran out of memory"]
            continue
        somebody = {n for some in step["used"] for n in some}
        for place, (parameter, gradient) in enumerate(zip(layers.parameters(), expected, strict=True)):
            found = None if parameter.grad is None else parameter.grad.numpy()
            same = found is not None and np.array_equal(found, gradient.numpy(), equal_nan=True)
            if same != (place // 2 in somebody):
                faults.append(f"step {number}, parameter {place}")
    return faults


def two(folder: Path) -> None:
    complete, begin = GradientSums.complete, GradientSums.begin
    early: list[int] = []

    def counted(sums, *, failed):
        early.append(len(sums._sent))
        complete(sums, failed=failed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_group, "BUCKET", 100)
        (folder / f"{rank()}.json").write_text(json.dumps(summed_by_hand()))
        patch.setattr(process_group, "BUCKET", 4000)
        patch.setattr(GradientSums, "complete", counted)
        for name, size in WAYS.items():
            patch.setenv("REPRO_MICRO_BATCH", size) if size else patch.delenv("REPRO_MICRO_BATCH", False)
            for sends in (True, False):
                early.clear()
                patch.setattr(GradientSums, "begin", begin if sends else lambda sums: None)
                made, _ = trained(name.partition(",")[0], folder / f"{name} {sends}", dropout=0.3)
                np.savez(folder / f"{name}-{sends}-{rank()}.npz", **weights(made))
                (folder / f"{name}-{sends}-{rank()}.json").write_text(json.dumps(early))
        patch.setattr(GradientSums, "begin", begin)
        patch.delenv("REPRO_MICRO_BATCH", False)
        patch.setenv("REPRO_PADDING_FREE", "0")  # rows of texts, which ``Capacity`` counts
        early.clear()
        with Capacity(1 if rank() == 1 else 100, "backward", after=6):
            made, facts = trained("mlm", folder / "full")
        np.savez(folder / f"full-{rank()}.npz", **weights(made))
        (folder / f"full-{rank()}.json").write_text(json.dumps({"early": early, "facts": facts}))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, in_two_processes):
    folder = tmp_path_factory.mktemp("sums")
    in_two_processes(two, folder)
    return folder


def read(path: Path):
    return json.loads(path.read_text())


def test_sums_are_those_of_gradients_that_were_all_there_whatever_each_process_uses(shared):
    assert [read(shared / f"{process}.json") for process in (0, 1)] == [[], []]


@pytest.mark.parametrize("name", WAYS)
def test_a_training_has_the_same_bits_where_gradients_are_sent_while_others_are_computed(shared, name):
    early, late = ([np.load(shared / f"{name}-{sends}-{p}.npz") for p in (0, 1)] for sends in (True, False))
    for one in (*early, late[1]):
        assert all((one[key] == late[0][key]).all() for key in late[0])
    for process in (0, 1):
        sent = read(shared / f"{name}-True-{process}.json")
        assert sent[0] == 0 and min(sent[1:]) > 1  # of the first step nobody knows what it uses
        assert set(read(shared / f"{name}-False-{process}.json")) == {0}


def test_a_process_that_runs_out_of_memory_among_its_last_gradients_stops_no_other(shared, tmp_path):
    whole, _ = trained("mlm", tmp_path)
    for process in (0, 1):
        told = read(shared / f"full-{process}.json")
        assert told["facts"]["micro_batch_origin"] == "halved at step 4" and told["early"][3] > 1
        close(dict(np.load(shared / f"full-{process}.npz")), weights(whole), dtype="float32")
