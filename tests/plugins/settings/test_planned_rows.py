from repro.plugins.settings import planned_rows
from repro.plugins.settings.planned_rows import ExpectedValues, expected
from repro.plugins.settings.schema import Setting


def test_a_setting_has_its_own_value_where_another_lay_in_the_same_memory():
    wanted = ExpectedValues()
    for number in range(50):
        assert wanted.of(Setting(published=number, where="§4"), "toy/1/a", {}).value == number


def test_a_value_is_found_once_for_rows_of_which_the_same_is_stated(monkeypatch):
    found, wanted, setting = [], ExpectedValues(), Setting(published=3, where="§4")
    monkeypatch.setattr(planned_rows, "expected", lambda *given: found.append(1) or expected(*given))
    assert {wanted.of(setting, row, {}).value for row in ("toy/1/a", "toy/1/b")} == {3}
    assert found == [1]
