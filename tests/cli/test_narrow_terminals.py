import pytest

from repro.machine import system


@pytest.mark.parametrize(
    "command",
    [
        "show cotmae_v2 --table 3",
        "compare cotmae_v2 --table 3",
        "audit claims costa",
        pytest.param("show settings costa", marks=pytest.mark.needs_plugins),
        "doctor --store store",
    ],
)
def test_every_value_of_a_table_is_shown_at_every_width(narrow, command, monkeypatch):
    monkeypatch.setattr(system, "disk_free", lambda path: 5 * system.GIB)
    narrow(command)


def test_a_measured_table_and_the_tests_of_a_run_are_shown_at_every_width(narrow, repro, measured):
    selection = ("costa/1/sparse.bm25/dev.rr10", "--scale", "tiny")
    narrow("compare", "costa", "--table", "1", "--scale", "tiny")
    exported = measured / "my.run"
    exported.write_text(repro("export run", *selection).out)
    narrow("compare", exported, *selection)
    narrow("compare", exported, exported, "--dataset", "tiny/passage/dev", "--measure", "RR@10")
