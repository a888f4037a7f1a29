"""Folders: the option, then the variable, then the user's own."""

import pytest

from repro.errors import UsageError
from repro.locations import CHECKOUT, Locations


def test_an_option_goes_before_a_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_STORE", str(tmp_path / "variable"))
    assert Locations.resolve().store == tmp_path / "variable"
    assert Locations.resolve(store=str(tmp_path / "option")).store == tmp_path / "option"


def test_what_a_user_of_a_checkout_measures_lies_beside_what_is_committed(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    places = Locations.resolve()
    assert places.results == tmp_path / "repro-bench" / "results"
    assert places.release == places.committed == CHECKOUT / "results"


def test_a_folder_that_is_named_stands_alone_and_is_held_against_what_is_committed(tmp_path):
    places = Locations.resolve(results=str(tmp_path))
    assert (places.results, places.release, places.committed) == (tmp_path, None, CHECKOUT / "results")


def test_a_data_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="which is not a folder"):
        Locations.resolve()
