"""Rates by the device that really does the work, assumed, read, or measured here."""

import json

import pytest

from repro.errors import UsageError
from repro.machine import system, versions
from repro.running.cost.throughput import assumed_throughput, calibrate, calibration_file, throughput
from repro.running.cost.work import Work
from repro.store import Store

MINING = Work(search=6.8e15)


@pytest.fixture
def beside_a_gpu(monkeypatch):
    """A machine with a GPU of 80 GB, 16 cores and the faiss of that name."""

    def with_faiss(name):
        monkeypatch.setattr(versions, "faiss_gpu", lambda: name == "faiss-gpu")

    monkeypatch.setattr(system, "gpu", lambda: ["NVIDIA H100 80GB HBM3, 81559 MiB", "NVIDIA L4, 23034 MiB"])
    monkeypatch.setattr(system, "cores", lambda: 16)
    return with_faiss


def test_mining_takes_hours_of_the_cores_where_faiss_leaves_the_gpu_idle(beside_a_gpu):
    beside_a_gpu("faiss-cpu")
    assert system.leaves_gpu_idle() and assumed_throughput("h100").hours(MINING) == pytest.approx(
        2.36, rel=0.01
    )
    beside_a_gpu("faiss-gpu")
    assert not system.leaves_gpu_idle() and assumed_throughput("h100").hours(MINING) == pytest.approx(
        0.08, rel=0.01
    )


def test_views_are_multiplied_by_torch_on_the_gpu_whatever_faiss_there_is(beside_a_gpu):
    beside_a_gpu("faiss-cpu")
    found = assumed_throughput("a100").hours(Work(view_search=19.5e12 * 0.35 * 3600))
    assert found == pytest.approx(1)


def _calibrated(tmp_path, **more):
    store = Store(tmp_path)
    rates = {"training": {"flops_per_second": 1e12}, "encoding": {"flops_per_second": 2e12}}
    kept = {"device": "cuda", "name": "GPU", "recorded": "2026-01-01", **rates, **more}
    calibration_file(store).write_text(json.dumps(kept))
    return throughput(store)


def test_measured_rates_of_searches_are_those_of_the_device_that_faiss_takes(beside_a_gpu, tmp_path):
    measured = {"single_precision_flops_per_second": 5e12, "cores_flops_per_second": 1e11}
    beside_a_gpu("faiss-cpu")
    found = _calibrated(tmp_path, **measured)
    assert (found.search, found.view_search, found.memory) == (1e11, 5e12, 23034 * 2**20)
    beside_a_gpu("faiss-gpu")
    assert _calibrated(tmp_path, **measured).search == 5e12


def test_a_measurement_without_them_takes_assumed_cores_or_the_rate_of_encoding(beside_a_gpu, tmp_path):
    beside_a_gpu("faiss-cpu")
    assert _calibrated(tmp_path).search == 16 * system.CORE_RATE
    beside_a_gpu("faiss-gpu")
    assert _calibrated(tmp_path).hours(Work(search=2e12 * 3600)) == pytest.approx(1)
    with pytest.raises(UsageError, match="`repro doctor calibrate` writes it anew"):
        _calibrated(tmp_path, cores_flops_per_second="fast")


def test_rates_are_consistent_with_each_other():
    import torch

    before = torch.get_num_threads()
    found = calibrate(seconds=0.01)
    assert torch.get_num_threads() == before
    assert found["device"] in ("cpu", "cuda") and found["name"] and found["recorded"]
    training, encoding = found["training"], found["encoding"]
    each = [kind["flops_per_second"] / kind["tokens_per_second"] for kind in (training, encoding)]
    assert each[0] == pytest.approx(3 * each[1])
    assert min(training["tokens_per_second"], encoding["tokens_per_second"]) > 0
    products = ("matrix_product", "single_precision", "cores")
    assert all(found[f"{product}_flops_per_second"] > 0 for product in products)
