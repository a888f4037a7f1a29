"""Learning curves of an article: panels named for readers, and what of them is not measured."""

from types import SimpleNamespace

import pytest

from repro.manifest.cells import figure_of
from repro.manifest.papers import paper
from repro.report.article.curves import _missing_sentences, _panel, _without_far_levels
from repro.report.article.picture import seed_count, seeds_of
from repro.report.figures.line_panels import Lines, Place

SOURCE = paper("head_to_head")


def _cells(line, *places, seeds=1):
    records = tuple(SimpleNamespace(measured=float(seed)) for seed in range(seeds))
    row = [SimpleNamespace(with_={line.over: x}) for x in places]
    return [
        SimpleNamespace(cell=SimpleNamespace(row=r), records=records, measured=0.5, doubts=()) for r in row
    ]


@pytest.fixture
def figure():
    return figure_of(SOURCE, "few-queries")


@pytest.fixture
def whole(figure):
    return {line.id: _cells(line, *(figure.points if line.over else (None,))) for line in figure.lines}


def test_a_panel_is_named_by_its_axis_above_it_among_others_and_below_it_alone(figure, whole):
    among, alone = (_panel(figure, whole, alone=alone) for alone in (False, True))
    assert (among.title, among.below) == ("Queries of fine-tuning", "")
    assert (alone.title, alone.below) == ("", figure.x)
    assert [name for name, _ in alone.levels] == ["BM25"]


@pytest.mark.parametrize(
    ("levels", "kept", "told"),
    [
        ([("near", 26.0), ("BM25", 26.01)], ["near"], "Not drawn: BM25 at 26.0. "),
        (
            [("near", 12.0), ("low", 11.9), ("BM25", 75.53)],
            ["near"],
            "Not drawn: low at 11.9 and BM25 at 75.5. ",
        ),
        ([("near", 21.0)], ["near"], ""),
    ],
)
def test_a_level_line_far_beyond_the_others_is_told_and_not_drawn(levels, kept, told):
    line = [Place(0, 18.0, 17, 19), Place(100, 20.0, 19, 21)]
    panel, sentence = _without_far_levels(Lines("", "steps", [("a", line)], levels))
    assert ([name for name, _ in panel.levels], sentence) == (kept, told)
    flat = Lines("", "steps", [("a", line[:1])], levels)
    assert _without_far_levels(flat) == (flat, "")


def test_what_is_measured_whole_is_not_said_to_be_missing(figure, whole):
    assert list(_missing_sentences([(figure, whole)])) == []


def test_missing_points_are_named_by_line_and_place(figure, whole):
    random, backbone, *_ = figure.lines
    some = {random.id: _cells(random, *figure.points[1:]), backbone.id: whole[backbone.id]}
    told = f"random weights at {figure.points[0]}; SimLM; BM25."
    assert list(_missing_sentences([(figure, some)])) == [f"Not measured yet: {told}"]
    rate = figure_of(SOURCE, "rate")
    parts = list(_missing_sentences([(figure, some), (rate, {"bm25": whole["bm25"]})]))
    assert parts[0].splitlines()[-1] == f"* Queries of fine-tuning: {told}"
    assert parts[1:] == ["Not drawn, as no point of it is measured yet: learning rate of fine-tuning."]


def test_seeds_are_counted_and_upright_lines_explained_where_there_are_any(figure):
    line = figure.lines[0]
    one, five = _cells(line, 100), _cells(line, 100, seeds=5)
    assert [seed_count(of) for of in (one, five, one + five)] == ["1 seed", "5 seeds", "1 to 5 seeds"]
    assert seeds_of(one) == "1 seed." and seeds_of(five).endswith("upright lines: lowest to highest seed.")
