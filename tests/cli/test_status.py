"""``repro plan``: how far the selected cells have come."""

from tests.cli.conftest import CELL

LINE = ("status", "costa", "--table", "1", "--scale", "tiny")


def test_before_anything_is_measured_nothing_is(repro, folders):
    cells = repro(*LINE, "--format", "json").json
    assert len(cells) == 66
    assert {cell["verdict"] for cell in cells} == {"not run"}
    assert {cell["measured"] for cell in cells} == {None}
    lines = repro(*LINE).out.splitlines()
    assert lines[-1].startswith("0 of ") and lines[-1].endswith(f"nodes are stored in {folders}/store")


def test_what_was_measured_is_counted_and_kept_without_its_store(repro, measured):
    [cell] = [cell for cell in repro(*LINE, "--format", "json").json if cell["measured"] is not None]
    assert cell["id"] == CELL and cell["verdict"] == "scaled" and cell["current"]
    row = next(line.split() for line in repro(*LINE).out.splitlines() if line.split()[:1] == ["costa"])
    assert row == ["costa", "1", "1/66", "1", "–", "65", "not", "run,", "1", "scaled"]
    assert (
        repro(*LINE, "--store", measured / "another", "--format", "json").json
        == repro(*LINE, "--format", "json").json
    )
