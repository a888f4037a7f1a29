"""Rates of models and of searches, assumed, read, or measured here."""

import json

import pytest

from repro.errors import UsageError
from repro.machine import system
from repro.manifest.papers import paper, stated_costs
from repro.running.cost.throughput import assumed_throughput, calibration_file, gpus, throughput
from repro.running.cost.work import Work, work
from repro.store import Store


def test_a_search_takes_the_single_precision_of_the_data_sheet():
    found = assumed_throughput("a100").hours(Work(search=19.5e12 * gpus()["least"]["share"] * 3600))
    assert found == pytest.approx(1)


def test_the_shares_are_what_their_sources_come_to(everything_at_full):
    shares = []
    for name, objective, steps in (("cotmae_v2", "contextual-autoencoder", 50000), ("simlm", "simlm", 80000)):
        stated = next(entry for entry in stated_costs(paper(name)) if entry.hours)
        nodes = (node for node in everything_at_full.nodes if node.stage == "pretrain")
        named = (n for n in nodes if n.params["objective"]["name"] == objective and n.params["length"] == 144)
        found = [work(node).training for node in named if node.params["max_steps"] == steps]
        peak = gpus()["sheets"][stated.gpu.lower()]["half"]
        shares.append(max(found) / (stated.gpu_hours * 3600 * peak))
    assert shares == [pytest.approx(gpus()["least"]["share"], abs=0.005), pytest.approx(0.21, abs=0.005)]
    encoder = 304_000 * 6 * 149e6 / gpus()["sheets"]["h100"]["half"]
    assert gpus()["greatest"]["share"] == pytest.approx(encoder, abs=0.005)


def _calibrated(tmp_path, **more):
    store = Store(tmp_path)
    rates = {"training": {"flops_per_second": 1e12}, "encoding": {"flops_per_second": 2e12}}
    kept = {"device": "cuda", "name": "GPU", "recorded": "2026-01-01", **rates, **more}
    calibration_file(store).write_text(json.dumps(kept))
    return throughput(store)


def test_measured_searches_have_a_rate_of_their_own_or_else_that_of_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "gpu", lambda: ["NVIDIA H100 80GB HBM3, 81559 MiB", "NVIDIA L4, 23034 MiB"])
    found = _calibrated(tmp_path, single_precision_flops_per_second=5e12)
    assert (found.search, found.memory) == (5e12, 23034 * 2**20)
    assert _calibrated(tmp_path).hours(Work(search=2e12 * 3600)) == pytest.approx(1)
    with pytest.raises(UsageError, match="`repro doctor calibrate` writes it anew"):
        _calibrated(tmp_path, single_precision_flops_per_second="fast")
