import pytest

from repro.manifest import papers as at_hand
from repro.manifest.papers import Paper
from repro.plugins.statements.across_papers import conventions, namesakes, quotations
from repro.plugins.statements.findings import Notes

CELLS = """\
paper: {name}
title: made
authors: {authors}
tables:
- id: "1"
  about: two systems
  unit: fraction
  bold: {bold}
  marks: {{"*": {{means: significant, over: [{over}]}}}}
  columns:
  - {{id: x, dataset: msmarco-passage/dev/small, measure: RR@10{settings}}}
  rows:
  - {{id: a, label: A, role: {role}, cells: ["{a}"]}}
  - {{id: b, label: B, role: rerun, cells: ["{b}"]}}
"""
USUAL = {
    "authors": "[P, Q, R]",
    "bold": "column",
    "over": "a",
    "settings": "",
    "role": "rerun",
    "a": "0.30",
    "b": "0.34*",
}


@pytest.fixture
def made(tmp_path):
    def call(name, **changes) -> Paper:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cells.yaml").write_text(CELLS.format(name=name, **USUAL | changes))
        return Paper(name, folder, name)

    at_hand.papers.cache_clear()
    yield call
    at_hand.papers.cache_clear()


def _told(check, *sources, notes=None):
    return [
        (f.id, f.severity, dict(zip(f.places, f.values, strict=True)))
        for f in check(list(sources), notes or Notes())
    ]


def test_a_system_with_another_value_in_another_paper_is_noted(made):
    told = _told(namesakes, made("one"), made("two", a="0.31"))
    assert told == [("names/a", "note", {"one/1/a/x": "0.30", "two/1/a/x": "0.31"})]


@pytest.mark.parametrize(
    "changes", [{}, {"a": "0.31", "role": "ours"}, {"a": "0.31", "settings": ", with: {queries: 5}"}]
)
def test_equal_values_own_systems_and_columns_with_settings_are_not(made, changes):
    assert _told(namesakes, made("one"), made("two", **changes)) == []


def test_what_a_configuration_compares_is_not_noted_again(made):
    notes = Notes(configurations={"same": ("one/1/a", "two/1/a")})
    assert _told(namesakes, made("one"), made("two", a="0.31"), notes=notes) == []


SAME = Notes(configurations={"one-a": ("one/1/a", "two/1/a"), "one-b": ("one/1/b", "two/1/b")})


def test_bold_in_one_paper_only_is_noted(made):
    [(identifier, severity, values)] = _told(conventions, made("one"), made("two", a="**0.30**"), notes=SAME)
    assert (identifier, severity) == ("conventions/one/two/bold", "note")
    assert values == {"one/1/a/x": "0.30", "two/1/a/x": "**0.30**"}


def test_a_mark_that_means_another_thing_is_a_doubt(made):
    sources = [made("one"), made("two", over="a, b")]
    [finding] = conventions(sources, SAME)
    assert (finding.id, finding.severity) == ("conventions/one/two/mark", "doubt")
    assert finding.says.endswith("* over a and * over a, b")


@pytest.mark.parametrize(
    "changes", [{}, {"authors": "[P, S, T]", "over": "b"}, {"bold": "unknown", "a": "**0.30**"}]
)
def test_equal_conventions_other_authors_and_lost_bold_are_not(made, changes):
    assert _told(conventions, made("one"), made("two", **changes), notes=SAME) == []


@pytest.mark.parametrize(
    ("role", "value", "severity"),
    [
        ("cited", "0.31", "doubt"),
        ("rerun", "0.31", "note"),
        ("cited", "0.30", None),
        ("cited", "0.300", None),
    ],
)
def test_values_of_a_system_are_held_against_its_makers_own_table(made, role, value, severity):
    makers, quoting = made("one", role="ours"), made("two", role=role, a=value)
    told = _told(quotations, makers, quoting)
    name = "two/quoted/a" + "/again" * (role == "rerun")
    assert told == [(name, severity, {"two/1/a/x": value, "one/1/a/x": "0.30"})] * (severity is not None)


def test_a_quotation_of_one_configuration_is_left_to_disagreements(made):
    joined = Notes(configurations={"a-of-all": ("one/1/a", "two/1/a")})
    assert not _told(quotations, made("one", role="ours"), made("two", role="cited", a="0.31"), notes=joined)


def test_a_gap_is_given_in_points(made):
    [finding] = quotations([made("one", role="ours"), made("two", role="cited", a="0.365")], Notes())
    assert finding.says == (
        "1 of 1 values of a, cited by two, differs from all those of one, by up to 6.5 points"
    )
