"""Exported runs."""

from tests.cli.conftest import CELL


def test_an_exported_run_tells_the_resources_that_it_took_in_version_0_2(repro, measured):
    head = repro(f"export run {CELL} --scale tiny --annotate 0.2").out.splitlines()
    assert head[1] == "# schema version: 0.2"
    assert any(line.startswith("#     wallclock: ") and line.endswith(" ms") for line in head)
    plain = repro(f"export run {CELL} --scale tiny --annotate").out.splitlines()
    assert plain[1] == "# schema-version: 0.1" and "# resources:" not in plain
