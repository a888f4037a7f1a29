"""``repro show``: every table and figure of every paper."""

import re

from repro.manifest.cells import numeric_cells
from repro.manifest.papers import papers


def test_every_table_and_figure_is_listed_once_with_its_cells(repro):
    rows = repro("show --format json").json
    expected = {
        (source.name, f"{kind} {item.id}")
        for source in papers().values()
        for kind, items in (("table", source.manifest.tables), ("figure", source.manifest.figures))
        for item in items
    }
    assert {(row["paper"], row["what"]) for row in rows} == expected and len(rows) == len(expected)
    for name, source in papers().items():
        results = [row for row in rows if row["paper"] == name and row["kind"] == "results"]
        assert sum(row["cells"] for row in results) == len(numeric_cells(source))
        assert all(0 <= row["recipe"] <= row["cells"] for row in results)


def test_people_see_a_block_per_paper(repro, toy, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = repro("show")
    assert said.status == 0 and said.err == "3 published cells.\n"
    lines = [line.rstrip() for line in said.out.splitlines() if line.strip()]
    assert lines[0] == "toy: A toy (), 3 published cells"
    assert lines[1].split() == ["kind", "cells", "recipe", "about"]
    assert re.fullmatch(r"table 1 +results +3 +2 +one system", lines[3])


def test_people_see_the_first_sentence_and_programs_all_of_them(repro, toy):
    toy.write_text(toy.read_text().replace("about: one system", "about: One system. And more"))
    assert "One system\n" in repro("show").out and "And more" not in repro("show").out
    assert repro("show --format json").json[0]["about"] == "One system. And more"


def test_brackets_are_shown_as_they_are(repro, toy):
    toy.write_text(toy.read_text().replace("about: one system", 'about: "one [bold]system[/bold]"'))
    assert "one [bold]system[/bold]" in repro("show").out
