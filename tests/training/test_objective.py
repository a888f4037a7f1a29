from __future__ import annotations

import sys
import types

import pytest
from torch import nn

from repro.errors import UsageError
from repro.training.objective import built, import_objective


class Regression(nn.Module):
    name = "regression"
    version = 3

    def __init__(self, model, tokenizer, *, width: int):
        super().__init__()


def test_an_objective_is_taken_only_under_its_declared_name_and_version(monkeypatch):
    module = types.ModuleType("somewhere")
    module.Regression = Regression
    monkeypatch.setitem(sys.modules, "somewhere", module)
    declared = {"name": "regression", "version": 3, "path": "somewhere:Regression"}
    assert import_objective(declared) is Regression
    for wrong in (
        {"name": "other"},
        {"version": 2},
        {"path": "somewhere:Other"},
        {"path": "nowhere:Regression"},
    ):
        with pytest.raises(UsageError):
            import_objective(declared | wrong)


def test_an_unknown_option_is_a_usage_error():
    with pytest.raises(UsageError, match=r"objective 'regression'.*'depth'"):
        built(Regression, None, None, {"width": 8, "depth": 3})
    assert isinstance(built(Regression, None, None, {"width": 8}), Regression)
