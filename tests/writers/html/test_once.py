"""A page of several scales asks for each thing once: recipes, judgements of what is printed, the audit."""

from collections import Counter

import pytest

from repro.manifest.cells import cells_of, select
from repro.manifest.papers import paper
from repro.plugins.settings import planned_rows
from repro.plugins.settings.checked import checked_parameters
from repro.plugins.statements.statements import Statement
from repro.retrieval.recipe.request import Request
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Results
from repro.verdicts import training_costs
from repro.writers.html.sections import gather


@pytest.fixture
def counted(monkeypatch):
    """Have a method note what it is called with, by a key made of its arguments."""

    def counting(owner, name, key):
        calls, real = Counter(), getattr(owner, name)

        def noted(*args, **kwargs):
            calls[key(*args, **kwargs)] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)
        return calls

    return counting


@pytest.fixture
def gathered(tmp_path):
    """Gather a page on SimLM at some scales from nothing stored and nothing recorded."""

    def of(*names):
        machine, cells = Machine(), select(("simlm",), tables=(), rows=(), cells=())
        plans = [plan(cells, scale=scale(name), machine=machine) for name in names]
        return gather(plans, Results(tmp_path / "results"), Store(tmp_path / "store"))

    return of


def test_recipes_are_called_for_originals_and_for_stand_ins_whatever_the_number_of_scales(gathered, counted):
    calls = counted(Request, "__init__", lambda self, dataset, choices, seed=None: "all")
    gathered("full", "tiny")
    both = calls.pop("all")
    gathered("full", "small-cpu", "tiny", "tiny-many")
    assert calls["all"] == both > 0


@pytest.mark.needs_plugins
def test_statements_are_judged_by_printed_numbers_once_for_the_page_and_once_for_the_audit(gathered, counted):
    calls = counted(
        Statement,
        "judge",
        lambda self, by, places=None: (self.id, "published" if by.is_published else ""),
    )
    gathered("full", "tiny", "tiny-many")
    of_paper = {n for (statement, by), n in calls.items() if by and statement.startswith("simlm/")}
    assert of_paper == {2}


def test_settings_expected_of_many_rows_are_worked_out_once(counted):
    calls = counted(planned_rows, "_numbers_without_choice", lambda values, planned_value, choices: "all")
    of_rows = [item for item in checked_parameters(paper("cotmae_v2")) if item.step]
    assert 0 < calls["all"] < len(of_rows) / 2


def test_cells_are_taken_apart_once():
    one, other = cells_of(paper("simlm")), cells_of(paper("simlm"))
    assert all(a is b for a, b in zip(one, other, strict=True))
    assert one is not other


def test_costs_of_a_study_walk_each_measurement_once(monkeypatch, tmp_path):
    walked = []
    cells = select(("head_to_head",), tables=("1",), rows=(), cells=())
    made = plan(cells, scale=scale("tiny"), machine=Machine())
    monkeypatch.setattr(training_costs, "walk", lambda nodes: walked.append(nodes) or [])
    training_costs.costs(made, Store(tmp_path))
    assert len(walked) == len(made.measurements) > 10
