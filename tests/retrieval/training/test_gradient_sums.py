import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed

from repro.retrieval.training import process_group
from repro.retrieval.training.process_group import OutOfMemory, rank, sum_gradients


def steps() -> Iterator[dict[str, list]]:
    yield {"used": [[0, 1], [0, 1]]}
    yield {"used": [[0, 1], [0, 2]]}  # one that only one has, and one that nobody had before
    yield {"used": [[0], [0]]}
    yield {"used": [[], [0, 1, 2]]}
    yield {"used": [[], []]}
    yield {"used": [[0, 1, 2], [0, 1, 2]], "infinite": [1]}  # as where fp16 overflows
    yield {"used": [[0, 1, 2], [0, 1, 2]], "fails": [1]}
    yield {"used": [[0, 1, 2], [0, 1, 2]]}


def gradients(layers, used: list[int], factor: float) -> None:
    if used:
        rows = torch.ones(2, 4)
        for number in used:
            rows = layers[number](rows).sin()
        (rows.sum() * factor).backward()


def no_room(parameter):
    raise torch.OutOfMemoryError("CUDA out of memory.")


def faults() -> list[str]:
    torch.manual_seed(0)
    layers, found = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3)), []
    for number, step in enumerate(steps()):
        used = step["used"][rank()]
        layers.zero_grad()
        gradients(layers, used, float("inf") if rank() in step.get("infinite", []) else 1 + rank())
        expected = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in layers.parameters()]
        for gradient in expected:
            distributed.all_reduce(gradient)
        try:
            with pytest.MonkeyPatch.context() as patch:
                if rank() in step.get("fails", []):
                    patch.setattr(process_group, "_gradient", no_room)
                sum_gradients(layers.parameters())
        except OutOfMemory:
            found += [] if "fails" in step else [f"step {number} ran out of memory"]
            continue
        somebody = {n for some in step["used"] for n in some}
        for place, (parameter, gradient) in enumerate(zip(layers.parameters(), expected, strict=True)):
            grad = None if parameter.grad is None else parameter.grad.numpy()
            same = grad is not None and np.array_equal(grad, gradient.numpy(), equal_nan=True)
            if same != (place // 2 in somebody) or "fails" in step:
                found.append(f"step {number}, parameter {place}")
    return found


def two(folder: Path) -> None:
    (folder / f"{rank()}.json").write_text(json.dumps(faults()))


def test_sums_are_those_of_each_parameter_alone_whatever_each_process_uses(tmp_path, in_two_processes):
    in_two_processes(two, tmp_path)
    assert [json.loads((tmp_path / f"{process}.json").read_text()) for process in (0, 1)] == [[], []]
