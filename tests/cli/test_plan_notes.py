"""A plan tells which steps the GPU takes in parts."""

import pytest

from repro.cli.plan_summary import _work_line, device_notes
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
        return device_notes(estimate(planned, gpu and assumed_throughput(gpu)))

    return told


def test_a_step_that_a_gpu_does_not_hold_is_told_with_its_parts(notes):
    largest, line = notes("cotmae_v2", "1", "cotmae_v2", gpu="h100")
    assert largest.startswith("GPU memory needed: about ") and largest.endswith(
        " GB for the largest step at once (pretrain contextual-autoencoder)"
    )
    assert line.startswith("micro-batches: on 80 GB, ") and " of 16,384" in line
    assert "REPRO_MICRO_BATCH sets another size" in line
    assert notes("costa", "1", "bm25", gpu="h100") == []


def test_without_a_calibration_hours_are_told_of_two_gpus_where_there_are_any(tmp_path):
    def told(name):
        cells = select(("costa",), tables=("1",), rows=("hardneg.costa",), cells=())
        planned = plan(cells, scale=scale(name), machine=Machine())
        planned.look(Store(tmp_path))
        return estimate(planned, None)

    whole = told("full")
    costs = [estimate(whole.plan, assumed_throughput(gpu)) for gpu in ("h100", "rtx4090")]
    one, other = (f"{cost.hours_in_words(cost.nodes)} hours of one" for cost in costs)
    expected = f", about {one} h100 or {other} rtx4090. To estimate hours, measure this machine"
    assert expected in _work_line(told("full"))
    assert "h100" not in _work_line(told("smoke"))
