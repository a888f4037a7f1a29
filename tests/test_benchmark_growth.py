from __future__ import annotations

import cProfile
import json
from pathlib import Path

import pytest

SIZES = {"encode": 3, "search": 100, "scoring": 1000, "mining": 1000, "planning": 2, "store": 12}


@pytest.fixture
def growth(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")  # its scripts find each other so
    import growth

    return growth


@pytest.mark.nightly  # by hand its numbers are taken; how calls grow is counted below on every push
def test_works_are_measured_at_the_sizes_asked_for_written_and_drawn(growth, tmp_path):
    sizes = [f"{work}={size},{2 * size}" for work, size in SIZES.items()]
    growth.main(["--work", *SIZES, "--sizes", *sizes, "--rounds", "1", "--out", str(tmp_path)])
    points = json.loads((tmp_path / "records/growth.json").read_text())["rounds"]
    tools = list(dict.fromkeys(p["tool"] for p in points))
    assert {"scoring", "pytrec_eval", "sentence-transformers", "planning"} < set(tools)
    assert {p["tool"] for p in points if p["work"] == "store"} >= {"store: status", "store: verify"}
    assert all(
        [float(p["size"]) for p in points if p["tool"] == tool] == _sizes(points, tool) for tool in tools
    )
    assert all(len(p["each"]) == 1 for p in points)
    assert all(0 < float(p["seconds"]) <= float(p["most"]) for p in points)
    section = (tmp_path / "RESULTS.md").read_text()
    assert all(f"| {tool} |" in section for tool in tools) and "exponent" in section


def _sizes(points, tool):
    [work] = {p["work"] for p in points if p["tool"] == tool}
    return [SIZES[work], 2 * SIZES[work]]


@pytest.mark.parametrize("work, size", [("planning", 10), ("store", 20)])
def test_calls_grow_in_proportion_to_the_size(growth, tmp_path, work, size):
    import growth_works

    told = []
    for n in (size, 4 * size):
        (folder := tmp_path / str(n)).mkdir()
        told.append({tool: _calls(run) for tool, run in getattr(growth_works, work)(folder, n).items()})
    few, many = told
    assert {tool: many[tool] / few[tool] for tool in few if many[tool] > 4.5 * few[tool]} == {}


def _calls(run):
    profile = cProfile.Profile()
    profile.runcall(run)
    return sum(entry.callcount for entry in profile.getstats())
