from __future__ import annotations

import cProfile
from pathlib import Path

import pytest


@pytest.fixture
def growth(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")  # its scripts find each other so
    import growth

    return growth


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
