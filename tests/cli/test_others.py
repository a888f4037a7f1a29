"""``repro show others`` and the line of ``repro show``."""

import pytest

from repro.plugins.reports.quantities import systems
from tests.cli.conftest import cells_of_line

CELL = "simlm/2/dense.ance/dev.rr10"


def test_cells_with_reports_are_listed_with_what_is_closest_and_how_near_they_come(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    said = repro("show", "others", "simlm")
    line = next(line for line in said.out.splitlines() if line.startswith(CELL))
    assert cells_of_line(line)[1] == "33.0"
    assert "released checkpoint encoded again" in said.out
    assert "median difference" in said.out


def test_every_report_has_its_place_in_json(repro):
    of_cell = repro("show", "others", CELL, "--format", "json").json
    assert {one["cell"] for one in of_cell} == {CELL}
    assert all(one["address"].startswith("https://") or "Table" in one["place"] for one in of_cell)


def test_show_tells_what_others_report_of_a_cell(repro):
    shown = repro("show", CELL).out
    assert "stated by others:" in shown and "run elsewhere:" in shown
    assert repro("show", CELL, "--format", "json").json["others"]


def test_searches_say_where_was_looked_for_a_system(repro):
    assert any(line.startswith("ance  ") for line in repro("show", "others", "--searches").out.splitlines())


@pytest.mark.parametrize("name", ["nowhere", "simlm/2/nowhere/dev.rr10"])
def test_a_name_that_there_is_not_is_one_sentence(repro, name):
    said = repro("show", "others", name)
    assert said.status == 2
    assert said.err.startswith("repro: ")


def test_the_page_is_written_with_its_pictures_and_their_numbers(repro, tmp_path):
    said = repro("show", "others", "-o", tmp_path / "page")
    assert said.status == 0 and str(tmp_path / "page" / "others.html") in said.out
    names = {path.name for path in (tmp_path / "page").iterdir()}
    assert {"others.html", "index.md", "nearness.svg", "nearness.csv", "forest-ance.svg"} <= names
    assert {name.removesuffix(".svg") for name in names if name.endswith(".svg")} == {
        name.removesuffix(".csv") for name in names if name.endswith(".csv")
    }


def test_searches_count_a_report_once_for_its_system_however_many_cells_it_is_on(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    lines = [cells_of_line(line) for line in repro("show", "others", "--searches").out.splitlines()]
    counted = {line[0]: line[1] for line in lines if len(line) > 1}
    assert {name: counted[name] for name in ("bm25", "costa", "ance")} == {
        system.id: str(system.authors + system.others)
        for system in systems()
        if system.id in ("bm25", "costa", "ance")
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["simlm", "--searches"], "--searches lists every system; give it without names"),
        (["--searches", "costa"], "--searches lists every system"),
        (["nope", "--searches"], "'nope'"),
        (["-o", ""], "--out names no folder"),
        (["-o", "page", "simlm"], "--out writes one page of all papers"),
    ],
)
def test_options_of_which_one_would_go_unheard_are_refused(repro, given, says):
    said = repro("show", "others", *given)
    assert said.status == 2 and says in said.sentence


def test_values_are_told_with_the_digits_of_the_published_one_and_no_exponent(repro, report):
    report("toy/1/bm25/dev", "0.703027180819723")
    line = next(
        line for line in repro("show", "others").out.splitlines() if line.startswith("toy/1/bm25/dev")
    )
    assert "0.703027180819723" not in line and "E" not in cells_of_line(line)[3]


def test_the_page_is_of_all_papers(repro, tmp_path):
    assert repro("show", "others", "simlm", "-o", tmp_path / "page").sentence.startswith(
        "--out writes one page"
    )


def test_a_place_that_is_no_folder_is_one_sentence(repro, tmp_path):
    (tmp_path / "file").write_text("")
    assert "--out" in repro("show", "others", "-o", tmp_path / "file").sentence


def test_the_page_of_papers_with_one_report_is_about_that_report(repro, report, tmp_path):
    report("toy/1/bm25/dev", "0.10")
    assert "1 of 1 cells" in _page(repro, tmp_path)


def test_the_page_of_papers_on_which_nobody_reports_says_so(repro, toy, tmp_path):
    assert "0 values" in _page(repro, tmp_path)


def _page(repro, folder):
    assert repro("show", "others", "-o", folder / "page").status == 0
    return (folder / "page" / "index.md").read_text(encoding="utf-8")
