import pytest

from repro.manifest.cells import cells_of
from repro.manifest.papers import Paper, papers
from repro.plugins.statements import judged as by_others
from repro.plugins.statements.judged import judged
from tests.made_up_reports import report_on
from tests.plugins.statements.made_up_values import MadeUp

CELLS = """\
paper: made
title: made
tables:
- id: "1"
  about: two systems
  bold: column
  test: {kind: t, sides: 2, level: 0.05}
  marks: {"*": {means: significant, over: [a]}}
  columns:
  - {id: x, head: [X], dataset: msmarco-passage/dev/small, measure: RR@10}
  - {id: y, head: [Y], dataset: msmarco-passage/dev/small, measure: R@1000}
  rows:
  - {id: a, label: A, cells: ["0.33", "0.90"]}
  - {id: b, label: B, cells: ["**0.34***", "**0.91**"]}
"""


def _report(cell, value, start="checkpoint", match="exact"):
    return report_on(cell, value, start, match=match)


@pytest.fixture
def judge(tmp_path, monkeypatch):
    def call(expect, reports, ours=None):
        (tmp_path / "cells.yaml").write_text(CELLS)
        claim = f"{{id: c, where: §1, about: ['1'], says: said, expect: {expect!r}}}"
        (tmp_path / "claims.yaml").write_text(f"claims:\n- {claim}\n")
        source = Paper("made", tmp_path, "made")
        on = {f"made/1/{place}": given for place, given in reports.items()}
        known = {
            c.id: tuple(_report(c, *given).note for given in on[c.id]) for c in cells_of(source) if c.id in on
        }
        monkeypatch.setattr(by_others, "notes", lambda cell: known.get(cell.id, ()))
        return judged([source], ours or MadeUp({}), scale="full")

    return call


@pytest.mark.parametrize(
    ("expect", "reports", "state"),
    [
        ('above("1/b/x", "1/a/x")', {"a/x": [("0.33",)], "b/x": [("0.35",)]}, "holds"),
        ('above("1/b/x", "1/a/x")', {"a/x": [("0.36",)], "b/x": [("0.35",)]}, "fails"),
        ('above("1/b/x", "1/a/x")', {"b/x": [("0.35",)]}, "untested"),
        ('above("1/b", "1/a", ["x", "y"])', {"a/x": [("0.36",)], "b/x": [("0.35",)]}, "fails"),
        ('above("1/b", "1/a", ["x", "y"])', {"a/x": [("0.33",)], "b/x": [("0.35",)]}, "untested"),
        ('gain("1/b/x", "1/a/x") <= 0.01', {"a/x": [("0.33",)], "b/x": [("0.34",)]}, "holds"),
        ('rounds(v("1/a/x"), "0.3")', {"a/x": [("0.33",)]}, "holds"),
        ('significantly_above("1/b/x", "1/a/x")', {"a/x": [("0.33",)], "b/x": [("0.35",)]}, "untested"),
        ('significantly_above("1/b/x", "1/a/x")', {"a/x": [("0.36",)], "b/x": [("0.35",)]}, "fails"),
        ('above("1/b/x", "1/a/x")', {"a/x": [("0.342",)], "b/x": [("0.34",)]}, "untested"),
        ('above("1/b/x", "1/a/x")', {"a/x": [("0.34",)], "b/x": [("0.34",)]}, "fails"),
    ],
)
def test_the_closest_reports_decide_where_they_can(judge, expect, reports, state):
    assert judge(expect, reports)[0].others.state == state


def test_what_matches_by_its_name_alone_judges_nothing(judge):
    reports = {"a/x": [("0.36", "checkpoint", "loose")], "b/x": [("0.35",)]}
    heard = judge('above("1/b/x", "1/a/x")', reports)[0].others
    assert (heard.state, len(heard.used), heard.cells) == ("untested", 1, 2)
    assert "only by name" in heard.judgement.why


def test_unlike_making_is_named_where_it_decides_and_in_all(judge):
    reports = {"a/x": [("0.36", "trained")], "b/x": [("0.35", "checkpoint")]}
    heard = judge('above("1/b/x", "1/a/x")', reports)[0].others
    assert heard.judgement.why == "1/b/x 0.35 (checkpoint) vs. 1/a/x 0.36 (trained)"
    assert heard.kinds == {"checkpoint": 1, "trained": 1}
    assert heard.basis == (
        "2 of 2 cells: released checkpoint encoded again (1), trained from the start (1), mixes released and "
        "retrained systems: by kind of making (released: untested, trained again: untested)"
    )
    alike = judge('above("1/b/x", "1/a/x")', {"a/x": [("0.36", "run")], "b/x": [("0.35",)]})[0].others
    assert alike.alike == {} and "trained again" not in alike.basis


def test_where_unlike_stands_beside_unlike_each_making_judges_alone_too(judge):
    reports = {"a/x": [("0.33",), ("0.37", "trained")], "b/x": [("0.36", "fine-tuned", "close")]}
    heard = judge('above("1/b/x", "1/a/x")', reports)[0].others
    assert (heard.state, heard.alike) == ("holds", {"released": "untested", "trained again": "fails"})


def test_a_mark_is_contradicted_by_an_order_and_never_borne_out_by_means(judge):
    expect = 'v("1/a/x") > 0'
    states = {}
    for value in ("0.30", "0.40"):
        statements = judge(expect, {"a/x": [(value,)], "b/x": [("0.35",)]})
        [mark] = [j for j in statements if j.statement.kind == "mark"]
        states[value] = mark.others.state
    assert states == {"0.30": "untested", "0.40": "fails"}


def test_reports_change_nothing_of_what_the_paper_and_ours_say(judge):
    expect, ours = 'above("1/b", "1/a", ["x", "y"])', MadeUp({"a/x": 0.3, "b/x": 0.4, "a/y": 0.9, "b/y": 0.8})
    with_reports = judge(expect, {"a/x": [("0.36",)], "b/x": [("0.35",)]}, ours)
    without = judge(expect, {}, ours)
    assert any(j.others.speaks for j in with_reports) and not any(j.others.speaks for j in without)
    assert [(j.published, j.ours) for j in with_reports] == [(j.published, j.ours) for j in without]
    assert [j.statement.id for j in with_reports] == [j.statement.id for j in without]


def test_on_real_papers_what_decides_is_never_matched_by_name_alone_and_says_how_it_was_made():
    heard = [j.others for j in judged(list(papers().values()), MadeUp({}), scale="full")]
    speaking = [one for one in heard if one.speaks]
    assert speaking
    for one in speaking:
        assert one.basis and sum(one.kinds.values()) == len(one.used) <= one.cells
        assert {note.match for _, note in one.used} <= {"exact", "close"}
