"""An output changes with its version only."""

import pytest

from tests.recorded import Recorded

OUTPUT = {"digest": "a", "numbers": {"mean": [1.0, 0.01]}}
OTHERS = [
    {"digest": "b", "numbers": {"mean": [1.0, 0.01]}},
    {"digest": "a", "numbers": {"mean": [1.02, 0.01]}},
]


@pytest.fixture
def table(tmp_path):
    made = Recorded(tmp_path / "outputs.json", "some/file.py")
    made.check("mine", 1, OUTPUT, renew=True)
    return made


@pytest.mark.parametrize("other", OTHERS)
def test_a_change_is_refused_and_renewed_under_a_higher_version_only(table, other):
    before = table.read()
    for renew in (False, True):
        with pytest.raises(AssertionError, match="raise the version of 'mine' in some/file"):
            table.check("mine", 1, other, renew=renew)
    assert table.read() == before
    table.check("mine", 2, other, renew=True)
    assert table.read() == {"mine": {"version": 2, **other}}


def test_numbers_may_differ_by_their_allowance(table):
    table.check("mine", 1, {"digest": "a", "numbers": {"mean": [1.009, 0.01]}}, renew=False)


def test_what_is_not_recorded_or_gone_is_noticed_and_renewed(table):
    for versions in ({"mine": 2}, {}, {"mine": 1, "other": 1}):
        with pytest.raises(AssertionError, match="--renew-outputs"):
            table.check_versions(versions, renew=False)
    table.check_versions({}, renew=True)
    assert table.read() == {}
