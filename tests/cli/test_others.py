"""``repro show others`` and the line of ``repro show``."""

from tests.cli.conftest import cells_of_line

CELL = "simlm/2/dense.ance/dev.rr10"


def test_cells_with_reports_are_listed_with_what_is_closest(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    said = repro("show others simlm")
    line = next(line for line in said.out.splitlines() if line.startswith(CELL))
    assert cells_of_line(line)[1] == "33.0"
    assert "released checkpoint encoded again" in said.out


def test_every_report_has_its_place_in_json(repro):
    of_cell = repro(f"show others {CELL} --format json").json
    assert {one["cell"] for one in of_cell} == {CELL}
    assert all(one["address"].startswith("https://") or "Table" in one["place"] for one in of_cell)


def test_show_tells_what_others_report_of_a_cell(repro):
    shown = repro(f"show {CELL}").out
    assert "reported elsewhere:" in shown and "run elsewhere:" in shown
    assert repro(f"show {CELL} --format json").json["others"]


def test_searches_say_where_was_looked_for_a_system(repro):
    assert any(line.startswith("ance  ") for line in repro("show others --searches").out.splitlines())


def test_values_are_told_with_the_digits_of_the_published_one_and_no_exponent(repro, report):
    report("toy/1/bm25/dev", "0.703027180819723")
    line = next(line for line in repro("show others").out.splitlines() if line.startswith("toy/1/bm25/dev"))
    assert "0.703027180819723" not in line and "E" not in cells_of_line(line)[3]
