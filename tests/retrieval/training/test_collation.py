from __future__ import annotations

import pytest

from repro.retrieval.training import collation
from repro.retrieval.training.collation import collating_processes


@pytest.mark.parametrize(
    "cores, local, wanted",
    [(16, None, 15), (16, 4, 3), (1, None, 1), (8, 8, 1), (192, None, 16), (192, 8, 16)],
)
def test_a_training_on_a_gpu_leaves_its_other_cores_to_batches(monkeypatch, cores, local, wanted):
    monkeypatch.setattr(collation, "cores", lambda: cores)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if local:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
    assert collating_processes(gpu=True) == wanted
    assert collating_processes(gpu=False) == 0
