import pytest

from repro.manifest import papers as at_hand
from repro.manifest.papers import Paper, papers
from repro.plugins.statements.paper_audit import of_patterns

HEAD = "paper: p\ntitle: made\ntables:\n"
TABLE = """\
- id: "{id}"
  about: made
  unit: percent
  {more}
  columns:
  - {{id: rr, dataset: d/dev, measure: RR@10}}
  - {{id: r10, dataset: d/dev, measure: R@10}}
  - {{id: r20, dataset: d/dev, measure: R@20}}
  - {{id: r30, dataset: d/dev, measure: R@30}}
  rows:
"""
ROW = '  - {{id: {id}, label: {id}, role: {role}, cells: ["{cells}"]}}\n'


@pytest.fixture
def found(tmp_path):
    def call(*tables):
        (tmp_path / "cells.yaml").write_text(HEAD + "".join(tables))
        return {f.id: f for f in of_patterns(Paper("p", tmp_path, "p"))}

    at_hand.papers.cache_clear()
    yield call
    at_hand.papers.cache_clear()


def made(id, rows, more="bold: unknown"):
    lines = [ROW.format(id=name, role=role, cells='", "'.join(cells)) for name, role, cells in rows]
    return TABLE.format(id=id, more=more) + "".join(lines)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (["39.4 (-2.0)", "50.1", "60.0", "70.0"], ["39.4", "39.4", "70.0", "70.0"]),
        (["39.4 (-2.0)", "50.1", "60.0", "70.1"], []),  # one number may be equal by chance
        (["39.4", "50.1", "60.0", "70.0"], []),
    ],
)
def test_a_part_alone_with_the_numbers_of_an_earlier_system_is_noted(found, part, expected):
    first = made(
        "1", [("old", "cited", ["39.4", "50.0", "61.0", "70.0"]), ("new", "ours", ["41", "51", "62", "72"])]
    )
    second = made(
        "2", [("new", "ours", ["41.4", "51", "62", "72"]), ("part", "ours", part)], "delta_from: new"
    )
    told = [f for f in found(first, second).values() if f.kind == "equal"]
    assert [list(f.values) for f in told] == [expected] * bool(expected)
    assert all(f.severity == "note" and "in 2 of 4 measures" in f.says for f in told)


@pytest.mark.parametrize(("value", "is_noted"), [("58", True), ("63", False), ("60.5", False)])
def test_a_value_whose_order_is_another_at_one_cutoff_is_noted(found, value, is_noted):
    others = [(name, "rerun", ["30", "50", str(60 + n), "70"]) for n, name in enumerate("abc")]
    told = found(made("1", [*others, ("x", "rerun", ["31", "51", value, "71"])]))
    assert list(told) == ["p/order/1/x/r20"] * is_noted
    for finding in told.values():
        assert set(finding.places) == {f"p/1/{row}/r20" for row in "xabc"}


@pytest.mark.parametrize(("cell", "is_noted"), [("50", True), ("**50**", False)])
def test_promised_bold_that_is_nowhere_is_noted(found, cell, is_noted):
    row = [("x", "rerun", ["30", cell, "60", "70"])]
    assert list(found(made("1", row, "promises_bold: true"))) == ["p/1/no-bold"] * is_noted
    assert not found(made("1", row))


def test_the_papers_have_an_instance_of_each():
    told = {f.id: f for source in papers().values() for f in of_patterns(source)}
    assert set(told) == {
        "costa/6/no-bold",
        "costa/7/no-bold",
        "cotmae_v2/equal/4/finetuning.den/cotmae",
        "retromae/order/3/bert/nq.top20",
    }
    assert told["cotmae_v2/equal/4/finetuning.den/cotmae"].values == ("39.4", "39.4", "98.7", "98.7")
