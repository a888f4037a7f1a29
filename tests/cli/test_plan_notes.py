"""A plan tells which steps the GPU takes in parts."""

import pytest

from repro.cli.plan_summary import micro_batch_notes
from repro.machine import system
from repro.manifest.cells import select
from repro.running.cost.estimate import assumed_throughput, estimate
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store


@pytest.fixture
def notes(tmp_path, monkeypatch):
    def told(paper, table, row, *, gpu=None, here=None):
        monkeypatch.setattr(system, "gpu", lambda: here)
        cells = select((paper,), tables=(table,), rows=(row,), cells=())
        planned = plan(cells, scale=scale("full"), machine=Machine())
        planned.look(Store(tmp_path))
        return micro_batch_notes(estimate(planned, gpu and assumed_throughput(gpu)))

    return told


def test_a_step_that_a_gpu_does_not_hold_is_told_with_its_parts(notes):
    [line] = notes("cotmae_v2", "1", "cotmae_v2", gpu="h100")
    assert line.startswith("micro-batches: on a GPU of 80 GB, ") and " of 16,384" in line
    assert "REPRO_MICRO_BATCH sets another size" in line
    assert notes("costa", "1", "bm25", gpu="h100") == []
