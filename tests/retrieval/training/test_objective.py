import sys
import types

import pytest
from torch import nn

from repro.errors import UsageError
from repro.retrieval.training.objective import as_objective, build, import_declared


class Regression(nn.Module):
    name = "regression"
    version = 3

    def __init__(self, model, tokenizer, *, width: int):
        super().__init__()
        self.width = width

    def collate(self, examples):
        return {}

    def denominators(self, batch):
        return {}

    def save(self, folder):
        pass


def test_an_objective_is_taken_only_under_its_declared_name_and_version(monkeypatch):
    module = types.ModuleType("somewhere")
    module.Regression = Regression
    monkeypatch.setitem(sys.modules, "somewhere", module)
    declared = {"name": "regression", "version": 3, "path": "somewhere:Regression"}
    assert import_declared("objective", declared) is Regression
    for key, value in (("name", "other"), ("version", 2), ("path", "somewhere:Other"), ("path", "nowhere:R")):
        with pytest.raises(UsageError):
            import_declared("objective", declared | {key: value})


def test_an_objective_gets_of_its_stage_what_it_asks_for_and_its_options_come_first():
    assert build(Regression, None, None, {}, settings={"width": 4, "epochs": 3}).width == 4
    assert build(Regression, None, None, {"width": 8}, settings={"width": 4}).width == 8


def test_an_objective_that_is_neither_a_sum_over_texts_nor_one_in_which_they_meet_is_refused():
    class Neither(nn.Module):
        name, version = "neither", 1

        def __init__(self, model, tokenizer):
            super().__init__()

    with pytest.raises(UsageError, match="'neither' is neither a SumObjective nor"):
        as_objective(Neither(None, None))
