"""Every training and encoding can use half precision."""

import re

import pytest

from repro.manifest.cells import exhibits, numeric_cells
from repro.manifest.papers import paper
from repro.running.plan import plan
from repro.running.recipe_calls import readings_for, recipe_path
from repro.running.requirements import NO_GPU, Machine
from repro.running.scale import scale


def planned(name, overrides=None):
    how = {"scale": scale("full"), "machine": Machine(), "overrides": overrides}
    return plan(list(numeric_cells(paper(name))), exhibits=exhibits((name,), ()), **how)


@pytest.mark.parametrize("name", ["costa", "cpdae", "cotmae_v2", "simlm"])
def test_the_obstacle_names_the_readings_that_lift_it_and_these_know_bf16(name, monkeypatch):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: None)
    here = planned(name)
    [remedy] = {o.remedy for o in here.machine.obstacles.values() if o.cause == NO_GPU.cause}
    offered = dict(re.findall(r"--reading ([\w-]+)=([\w-]+)", remedy))
    assert {"pretraining-precision", "fine-tuning-precision"} <= offered.keys()
    in_full = planned(name, offered)
    assert {n.params["precision"] for n in in_full.nodes if "precision" in n.params} == {"fp32"}
    left = [in_full.machine.obstacles.get(node.fingerprint) for node in in_full.nodes]
    assert NO_GPU.cause not in {obstacle.cause for obstacle in left if obstacle}
    known = {}
    for cell in numeric_cells(paper(name)):
        known |= readings_for(cell.paper, recipe_path(cell)) if cell.recipe else {}
    for reading, choice in offered.items():
        choices = known[reading].choices
        assert str(choices[choice]).replace("fp32", "bf16", 1) in map(str, choices.values()), reading
