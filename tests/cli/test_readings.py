"""``repro show readings``: what the papers leave open, with the choices and the default."""

import pytest

from repro.manifest.papers import papers
from tests.cli.conftest import cells_of_line, rows_of_table


def test_every_reading_of_every_paper_is_there_with_its_default_among_its_choices(repro):
    rows = repro("show", "readings", "--format", "json").json
    assert {row["of"] for row in rows} == {name for name, source in papers().items() if source.readings}
    for name, source in papers().items():
        ids = [row["id"] for row in rows if row["of"] == name]
        own = [k for k in source.readings if k not in source.shared_readings]
        shared = [k for k in ids if k in source.shared_readings]  # those that its recipes ask for
        assert sorted(ids) == sorted([*own, *shared])
    assert all(row["affects"] and row["default"] in row["choices"] for row in rows)


def test_people_see_the_default_in_brackets(repro, toy):
    reading = (
        '- {id: a, kind: silence, where: §1, paper: "not said [2]", choices: {one: 1, two: 2}, default: two}'
    )
    toy.with_name("readings.yaml").write_text(reading)
    said = repro("show", "readings", "toy")
    assert said.out.startswith("toy: 1 notes (default in brackets)")
    for shown in ("not said [2]", "one | [two]"):
        assert shown in said.out


def test_the_decisive_ones_say_what_changes_and_what_it_costs_to_know(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    said = repro("show", "readings", "costa/1/hardneg.costa/dev.rr10", "--decisive")
    title, _, head, *_ = said.out.splitlines()
    assert title == "costa: the 10 most decisive unspecified choices"
    assert cells_of_line(head)[-2:] == ["decides", "cheapest to know"]
    first, *others = rows_of_table(said.out, "choice")
    assert first[:2] == ["loss-reduction", "conflict"] and len(others) == 9
    assert first[3].startswith("pre-training: pretrain options.reduction mean → sum")
    assert " GPU h: as-printed on" in first[5]
    assert "h100, assumed 35% of 989 TFLOP/s" in said.err


@pytest.mark.parametrize(
    ("options", "kept"), [(["--kind", "misprint"], {"misprint"}), (["--kind", "data"], {"data"})]
)
def test_readings_are_filtered_by_kind_and_table(repro, options, kept):
    every = repro("show", "readings", "cpdae", "--table", "1", "--format", "json").json
    some = repro("show", "readings", "cpdae", "--table", "1", *options, "--format", "json").json
    assert {row["kind"] for row in some} <= kept and len(some) < len(every)
    assert [row for row in every if row["kind"] in kept] == some


@pytest.mark.parametrize("options", [[], ["--table", "1"]])
def test_switches_stand_before_notes_and_what_has_a_single_choice_is_none(repro, options):
    rows = repro("show", "readings", "cpdae", *options, "--format", "json").json
    groups = [row["group"] for row in rows]
    firsts = list(dict.fromkeys(groups))
    assert groups == sorted(groups, key=firsts.index) and (firsts[0], firsts[-1]) == ("switches", "notes")
    single = {row["group"] for row in rows if len(row["choices"]) == 1}
    assert single == {"notes"}


def test_a_cell_and_a_paper_together_are_refused(repro):
    said = repro("show", "readings", "costa", "costa/1/hardneg.costa/dev.rr10")
    assert said.status == 2 and "a cell is named by its path alone" in said.sentence


def test_what_stands_in_for_a_file_that_is_not_here_is_a_switch(repro, monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    rows = {
        row["id"]: row for row in repro("show", "readings", "costa", "--table", "1", "--format", "json").json
    }
    for name in ("passage-titles", "untitled-passages", "word-stop-list"):
        assert rows[name]["group"] == "switches" and rows[name]["decides"] > 0
    [change] = rows["word-stop-list"]["changes"]
    assert all(len(told) < 200 for told in change["changes"])
