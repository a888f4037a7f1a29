"""The study on one GPU: a table in 40 minutes, all of it in 20 days."""

import pytest

import repro
from repro.running.cost.estimate import assumed_throughput, estimate
from repro.store import Store

SEEDS = (1, 2, 3, 4, 5)
CORES = 4


@pytest.mark.parametrize(
    ("scale", "tables", "gpu", "most"),
    [
        ("small", ("1",), "h100", 40 / 60),
        ("small", ("1",), "rtx4090", 40 / 60),
        ("medium", (), "h100", 20 * 24),
    ],
)
def test_the_hours_of_five_seeds_are_within_what_the_scale_is_for(scale, tables, gpu, most, tmp_path):
    plan = repro.select("head_to_head", tables=tables, scale=scale, seeds=SEEDS).plan()
    plan.machine.leave()
    plan.look(Store(tmp_path))
    cost = estimate(plan, assumed_throughput(gpu))
    assert not cost.uncounted
    assert cost.core_hours(cost.nodes) / CORES < cost.hours(cost.nodes) <= most


@pytest.mark.parametrize("scale", ["small", "medium"])
def test_the_backbone_is_made_once_for_all_seeds_and_rows(scale):
    plan = repro.select("head_to_head", tables=("1",), scale=scale, seeds=SEEDS).plan()
    starts = [n.inputs["model"] for n in plan.nodes if n.stage == "pretrain"]
    trained = [start.fingerprint for start in starts if start.stage in ("pretrain", "backbone")]
    assert len(trained) >= len(SEEDS) * 4 and len(set(trained)) == 1
