"""What an article says of the plan of analysis."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.manifest.papers import paper
from repro.report.article import pictures, verdicts


def _results(*commits):
    records = [SimpleNamespace(environment={"commit": commit}) for commit in commits]
    source = SimpleNamespace(folder=Path(paper("head_to_head").folder))
    return SimpleNamespace(source=source, cells={"1/x/c": SimpleNamespace(records=records)})


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        (("abc", "abc"), "every record is of a commit that contains it."),
        (("abc", "abc-dirty"), "contains it. 1 of them were made with changes that were not committed."),
        (("abc-dirty", "0"), "1 of 2 records are of a commit that contains it. 1 of them were made with"),
    ],
)
def test_records_of_a_changed_tree_are_counted_apart(commits, said, monkeypatch):
    monkeypatch.setattr(verdicts, "last_change", lambda path: ("f" * 40, "2026-01-01"))
    monkeypatch.setattr(verdicts, "contains", lambda folder, digits, commit: digits == "abc")
    assert said in verdicts._precedence(_results(*commits))


def test_columns_of_which_nothing_is_concluded_are_named_beneath_the_picture_of_differences():
    rows = [
        ("A", "x", "at the floor", ""),
        ("A", "y", "at the floor", ""),
        ("B", "x", "above", ""),
        ("B", "y", "at the floor", ""),
    ]
    assert pictures._floor_note(rows) == ["At the floor, so that nothing is concluded: A."]
    assert pictures._floor_note(rows[2:]) == []
