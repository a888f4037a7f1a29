from types import SimpleNamespace

import pytest

from papers.head_to_head import pictures
from papers.head_to_head.pictures import Pictures, missing_points
from repro.manifest.cells import figure_of
from repro.manifest.papers import paper

FIGURE = figure_of(paper("head_to_head"), "few-queries")


def points(without=()):
    """The cells of the figure's first panel; rows ``without`` are not measured."""
    table = SimpleNamespace(id="figure-few-queries")
    return [
        SimpleNamespace(
            cell=SimpleNamespace(table=table, row=row), measured=None if row.id in without else 0.5
        )
        for row in FIGURE.as_table.rows
    ]


@pytest.fixture
def shown(monkeypatch, tmp_path):
    def show(cells):
        is_measured = any(c.measured is not None for c in cells)
        path = tmp_path / "head_to_head-figurefewqueries.svg"
        monkeypatch.setattr(pictures, "draw_curves", lambda *_, **__: [path] if is_measured else [])
        article = SimpleNamespace(figures={"few-queries": FIGURE}, points=dict(enumerate(cells)))
        return Pictures(article, tmp_path).curves("few-queries")

    return show


def test_missing_points_are_named_by_line_and_place(shown):
    assert missing_points(FIGURE, points()) == ""
    expected = "Not measured yet: random weights at 100; BM25."
    assert missing_points(FIGURE, points(without=("random.100", "bm25"))) == expected
    assert shown(points(without=("random.100", "bm25"))).endswith(expected)
