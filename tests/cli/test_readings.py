"""``repro show readings``: unspecified choices with the default."""

import pytest

from repro.manifest.papers import papers


def test_every_reading_of_every_paper_is_there_with_its_default_among_its_choices(repro):
    rows = repro("show readings --format json").json
    assert {row["of"] for row in rows} == {name for name, source in papers().items() if source.readings}
    for name, source in papers().items():
        ids = [row["id"] for row in rows if row["of"] == name]
        own = [k for k in source.readings if k not in source.shared_readings]
        shared = [k for k in ids if k in source.shared_readings]
        assert sorted(ids) == sorted([*own, *shared])
    assert all(row["affects"] and row["default"] in row["choices"] for row in rows)


def test_people_see_the_default_in_brackets(repro, toy):
    reading = (
        '- {id: a, kind: silence, where: §1, paper: "not said [2]", choices: {one: 1, two: 2}, default: two}'
    )
    toy.with_name("readings.yaml").write_text(reading)
    said = repro("show readings toy")
    assert said.out.startswith("toy: 1 readings (default in brackets)")
    for shown in ("not said [2]", "one | [two]"):
        assert shown in said.out


@pytest.mark.parametrize(
    ("options", "kept"), [(["--kind", "misprint"], {"misprint"}), (["--kind", "data"], {"data"})]
)
def test_readings_are_filtered_by_kind_and_table(repro, options, kept):
    every = repro("show readings cpdae --table 1 --format json").json
    some = repro("show readings cpdae --table 1", *options, "--format", "json").json
    assert {row["kind"] for row in some} <= kept and len(some) < len(every)
    assert [row for row in every if row["kind"] in kept] == some


def test_behind_a_cell_are_the_readings_that_its_page_counts(repro):
    cell = "costa/1/hardneg.costa/dev.rr10"
    rows = repro("show readings", cell, "--format", "json").json
    page = repro("show", cell, "--format", "json").json
    assert {row["id"] for row in rows} == set(page["readings"])
    assert all(row["affects"] == [cell] for row in rows)
