"""Hours from work and throughput; budgets."""

import json
from collections import ChainMap
from dataclasses import replace
from pathlib import Path

import pytest

from repro.errors import ManifestError, UsageError
from repro.machine import system
from repro.manifest.cells import select
from repro.manifest.papers import paper, stated_costs
from repro.running.cost.estimate import (
    Throughput,
    assumed_throughput,
    calibration_file,
    estimate,
    gpus,
    keep_within,
    recorded_shares,
    throughput,
)
from repro.running.cost.work import Work, work
from repro.running.plan import plan
from repro.running.requirements import Machine, Obstacle
from repro.running.scale import scale
from repro.store import Store

RECORDS = Path(__file__).resolve().parents[3] / "benchmarks/records"
SLOW = Throughput("CPU", 1e9, 2e9, "a machine of the test")


@pytest.fixture
def planned(tmp_path):
    def build(rows=("hardneg.costa",)):
        return _planned(tmp_path, rows, "tiny")

    return build


def _planned(folder, rows, name):
    cells = select(("costa",), tables=("1",), rows=rows, cells=())
    made = plan(cells, scale=scale(name), machine=Machine())
    made.look(Store(folder / "store"))
    return made


def test_hours_are_operations_over_operations_a_second():
    assert SLOW.hours(Work(3.6e12, 7.2e12, 0)) == 1 + 1
    assert SLOW.hours(Work(None, 1.0, 0)) is None
    assert SLOW.hours(Work(search=3.6e12, waited=1800.0)) == 0.5 + 0.5  # the second scoring, on one core


def test_a_named_gpu_reaches_recorded_shares_of_its_peak_and_a_range_of_others(tmp_path):
    peak, rates = 989e12, throughput(Store(tmp_path), "H100")
    assert (rates.training / peak, rates.fastest.training / peak) == pytest.approx((0.049, 0.123))
    assert rates.unit == "GPU" and rates.basis == "h100, recorded shares of 989 TFLOP/s"
    simlm = "simlm 4.9% (on-a-gpu-pre-training, out of date, a plan counts 1.1 times its operations), "
    assert simlm in rates.shares
    assert rates.shares.endswith(", other trainings 4.9% to 12.3%, the rest 15% to 27%")
    other = assumed_throughput("a100")
    assert other.basis == "a100, 15% to 27% of 312 TFLOP/s, not measured" and not other.recorded
    h200 = assumed_throughput("h200")
    assert (h200.recorded, h200.basis) == (rates.recorded, "h200, recorded h100 shares of 989 TFLOP/s")
    with pytest.raises(UsageError, match=r"'h1000' is not a known GPU. Did you mean h100"):
        throughput(Store(tmp_path), "h1000")


def test_the_shares_are_those_of_the_records():
    for kind, one in ChainMap(*recorded_shares("h100").values()).items():
        record = json.loads((RECORDS / f"{one.record}.json").read_text())
        assert ("out of date" in one.notes) == (one.work in record.get("outdated", ()))
        [row] = [row for row in record["rows"] if (row["work"], row["tool"]) == (one.work, one.tool)]
        assert row["MFU (data sheet)"] == f"{one.share:.1%}", kind


def test_a_malformed_file_of_shares_is_refused(tmp_path, monkeypatch):
    (tmp_path / "shares.yaml").write_text("h100: {search: {}}\n")
    monkeypatch.setattr("repro.manifest.papers.folders_with", lambda file: [tmp_path])
    with pytest.raises(ManifestError, match=r"shares\.yaml:1"):
        assumed_throughput("h100")


def test_a_calibration_is_read_back_and_a_broken_one_refused(tmp_path):
    store = Store(tmp_path)
    assert throughput(store) is None
    said = {"device": "cuda", "name": "GPU X", "recorded": "2030-01-02T03:04:05"}
    rates = {"training": 2e14, "encoding": 3e14}
    said |= {kind: {"flops_per_second": rate} for kind, rate in rates.items()}
    calibration_file(store).write_text(json.dumps(said))
    rates = throughput(store)
    assert (rates.unit, rates.training, rates.inference) == ("GPU", 2e14, 3e14)
    assert rates.basis.startswith("GPU X, calibrated 2030-01-02: 200 TFLOP/s training")
    for training in ({}, {"flops_per_second": 0}):
        calibration_file(store).write_text(json.dumps({**said, "training": training}))
        with pytest.raises(UsageError, match=r"json cannot be read .*`repro doctor calibrate` writes it"):
            throughput(store)


def test_the_parts_add_up_to_the_whole(planned):
    found = estimate(planned(), SLOW)
    assert found.operations > 0 and not found.uncounted and not found.downloads and not found.checkpoints
    assert found.hours(found.nodes) == pytest.approx(sum(found.hours([n]) for n in found.nodes))
    [(name, part)] = found.plan.split("paper").items()
    assert name == "costa" and part.needed() == found.nodes
    assert estimate(planned(), None).hours(found.nodes) is None
    assert found.hours_in_words(found.nodes) == f"{float(f'{found.hours(found.nodes):.2g}'):g}"
    apart = estimate(found.plan, replace(SLOW, fastest=replace(SLOW, training=1e10, inference=2e10)))
    assert apart.hours_in_words(apart.nodes).split(" to ")[1] == found.hours_in_words(found.nodes)
    assert found.hours_in_words(found.nodes, price=3614 / found.hours(found.nodes)) == "3,600"
    assert found.hours_in_words(found.nodes, price=3.6e6 / found.hours(found.nodes)) == "3,600,000"


def test_downloads_count_an_archive_of_several_splits_once(tmp_path):
    sizes = list(estimate(_planned(tmp_path, ("bm25",), "full"), None).downloads.values())
    assert sizes.count(1057717952) == 1


def test_a_budget_takes_nodes_in_order_and_a_larger_one_only_adds(planned):
    whole = estimate(planned(), SLOW)
    costs = [hours for node in whole.nodes if (hours := whole.hours([node]))]
    taken = []
    for budget in (0, costs[0] * 1.001, sum(costs[:3]) * 1.001, sum(costs) * 1.001):
        made = planned()
        spent = keep_within(estimate(made, SLOW), budget)
        left = [n for n in made.needed() if not made.obstacles(n)]
        assert spent <= budget and spent == pytest.approx(whole.hours(left))
        taken.append({n.fingerprint for n in left})
        causes = {obstacle.cause for obstacle in made.machine.obstacles.values()}
        assert causes <= {f"the budget of {budget:g} CPU hours is spent"}
    assert taken[0] < taken[1] < taken[2] < taken[3] == {n.fingerprint for n in whole.nodes}


def test_what_this_machine_lacks_counts_where_hours_are_anothers_and_what_nobody_has_does_not(planned):
    def made(**named):
        found = planned()
        tuned = next(n for n in found.needed() if n.stage == "finetune")
        found.machine.obstacles[tuned.fingerprint] = Obstacle("no", "get it", **named)
        return found

    whole = estimate(planned(), SLOW)
    everything = pytest.approx(whole.hours(whole.nodes))
    there = keep_within(estimate(made(of_machine=True), SLOW), 10**9, other_machine=True)
    here = keep_within(estimate(made(of_machine=True), SLOW), 10**9)
    lacking = keep_within(estimate(made(), SLOW), 10**9, other_machine=True)
    assert there == everything and here == lacking != everything


@pytest.mark.parametrize(
    ("rates", "hours", "message"),
    [
        (SLOW, -1, "but must be 0 or more"),
        (SLOW, float("nan"), "but must be 0 or more"),
        (None, 1, "`repro doctor calibrate` measures this machine, --gpu names another"),
    ],
)
def test_a_budget_that_is_none_or_without_a_throughput_is_refused(planned, rates, hours, message):
    with pytest.raises(UsageError, match=message):
        keep_within(estimate(planned(), rates), hours)


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
    assert shares == [pytest.approx(0.18, abs=0.005), pytest.approx(gpus()["least"]["share"], abs=0.005)]
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
    with pytest.raises(UsageError, match="`repro doctor calibrate` writes it again"):
        _calibrated(tmp_path, single_precision_flops_per_second="fast")
