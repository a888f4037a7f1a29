"""``repro readings``: what the papers leave open, with the choices and the default."""

import pytest

from repro.manifest.papers import papers


@pytest.mark.parametrize("name", sorted(papers()))
def test_every_reading_is_there_with_its_default_among_its_choices(repro, name):
    rows, source = repro("readings", name, "--json").json, papers()[name]
    shared = [row["id"] for row in rows if row["id"] in source.shared_readings]
    assert shared == [k for k in source.shared_readings if k in shared]  # those that its recipes ask for
    assert [row["id"] for row in rows] == [
        k for k in source.readings if k not in source.shared_readings or k in shared
    ]
    assert all(row["affects"] for row in rows)
    assert all(row["of"] == name and row["default"] in row["choices"] for row in rows)


def test_people_see_the_default_in_brackets(repro, toy):
    reading = (
        '- {id: a, kind: silence, where: §1, paper: "not said [2]", choices: {one: 1, two: 2}, default: two}'
    )
    toy.with_name("readings.yaml").write_text(reading)
    said = repro("readings", "toy")
    assert said.out.startswith("toy: 1 readings (default in brackets)")
    for shown in ("not said [2]", "one | [two]"):
        assert shown in said.out


def test_without_a_name_all_papers_are_shown(repro):
    with_readings = {name for name, source in papers().items() if source.readings}
    assert {row["of"] for row in repro("readings", "--json").json} == with_readings
