"""Folders: the option, then the variable, then the user's own."""

import pytest

from repro.errors import UsageError
from repro.locations import Locations


def test_an_option_goes_before_a_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_STORE", str(tmp_path / "variable"))
    assert Locations.resolve().store == tmp_path / "variable"
    assert Locations.resolve(store=str(tmp_path / "option")).store == tmp_path / "option"


def test_results_of_a_checkout_lie_in_it():
    assert Locations.resolve().results.name == "results"


def test_a_data_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="which is not a folder"):
        Locations.resolve()
