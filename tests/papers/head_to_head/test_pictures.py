"""Pictures of the article: names of panels, what is not measured, and what stands beneath."""

from types import SimpleNamespace

import pytest

from papers.head_to_head.pictures import Pictures, _seeds, missing_points
from repro.manifest.cells import figure_of
from repro.manifest.papers import paper
from repro.plugins.studies import slide
from repro.plugins.studies.slide import Point

SOURCE = paper("head_to_head")


@pytest.fixture
def put(monkeypatch):
    """What would be drawn: the function with its panels, title, note, heads and rows."""
    monkeypatch.setattr(slide, "write", lambda *words: words)


def _cell(figure, line, x, seeds=1):
    column = SimpleNamespace(id=figure.panels[0].id, label="MRR", mean_of=())
    row = SimpleNamespace(group=line.id, with_={line.over: x})
    cell = SimpleNamespace(
        table=SimpleNamespace(id=f"figure-{figure.id}"), column=column, row=row, unit="percent"
    )
    records = tuple(SimpleNamespace(measured=float(seed)) for seed in range(seeds))
    facts = {"measured": 0.5, "doubts": (), "scale": "curves", "measured_on": ["queries"]}
    return SimpleNamespace(cell=cell, records=records, **facts)


def _pictures(*identifiers, seeds=1, without=()):
    figures = {name: figure_of(SOURCE, name) for name in identifiers}
    places = [
        (figure, line, x)
        for figure in figures.values()
        for line in figure.lines
        for x in (figure.points if line.over else [None])
        if (line.id, x) not in without
    ]
    points = {str(place): _cell(*place, seeds=seeds) for place in places}
    return Pictures(SimpleNamespace(figures=figures, points=points, source=SOURCE, scale="x"), SOURCE.folder)


def test_a_panel_is_named_by_its_axis_above_it_among_others_and_below_it_alone(put):
    [[alone], _], *_ = [_pictures("few-queries").curves("few-queries")[0].args]
    [[first, _], _], *_ = [_pictures("few-queries", "rate").curves("few-queries", "rate")[0].args]
    assert (first.title, first.below) == ("Queries of fine-tuning", "")
    assert (alone.title, alone.below) == ("", figure_of(SOURCE, "few-queries").x)
    assert [name for name, _ in alone.levels] == ["BM25"]


def test_a_level_line_that_is_left_out_is_told(put):
    draw, _, _, note, *_ = _pictures("few-queries").curves("few-queries", without=["BM25"])
    assert not draw.args[0][0].levels and "Not drawn: BM25 at 0.5. " in note


@pytest.mark.parametrize(("seeds", "said"), [(1, " 1 seed. "), (5, " 5 seeds; upright lines: lowest to")])
def test_seeds_are_counted_and_upright_lines_explained_where_there_are_any(seeds, said, put):
    note = _pictures("few-queries", seeds=seeds).curves("few-queries")[3]
    assert "MRR, percent, on queries." + said in note and note.endswith("Scale curves.")
    assert [_seeds(counts) for counts in ([1], [5, 5], [5, 1])] == ["1 seed", "5 seeds", "1 to 5 seeds"]


def test_missing_points_are_named_by_line_and_place():
    figure = figure_of(SOURCE, "few-queries")
    lines = [line for line in figure.lines if line.over]
    points = [Point("", line.label, x, 0, 0, 0) for line in lines for x in figure.points]
    assert missing_points(figure, points) == []
    gap = f"{figure.x}, {lines[0].label} at {figure.points[0]}"
    assert missing_points(figure, points[1:]) == [gap]


def test_what_is_missing_of_a_figure_is_said_beneath_it(monkeypatch):
    monkeypatch.setattr(slide, "write", lambda *words: "drawn")
    figure = figure_of(SOURCE, "few-queries")
    gap = (figure.lines[0].id, figure.points[0])
    said = _pictures("few-queries", without=[gap]).curves("few-queries")
    assert said == f"drawn\n\nNot measured yet: {figure.x}, {figure.lines[0].label} at {figure.points[0]}."
    assert _pictures("few-queries").curves("few-queries") == "drawn"


def test_columns_of_which_nothing_is_concluded_are_named_beneath_the_picture_of_differences(put):
    table = SimpleNamespace(
        rows=[SimpleNamespace(id=n, label=n) for n in "xyz"],
        columns=[SimpleNamespace(id=n, label=n) for n in "AB"],
    )
    difference = SimpleNamespace(mean=0.1, interval=lambda: (0.0, 0.2), seeds=5)

    def contrast(row, other, column):
        verdict = "above" if (row, column) == ("x", "B") else "at the floor"
        return (
            SimpleNamespace(
                row=row, against=other, column=column, difference=difference, holm=0.5, verdict=verdict
            )
            if row != other
            else None
        )

    analysis = SimpleNamespace(matters={"A": 2.0, "B": 2.0})
    study = SimpleNamespace(contrast=contrast, analysis=analysis, preliminary="preliminary: 1 of 2")
    cells = {f"1/{row}/{column}": SimpleNamespace(doubts=()) for row in "xyz" for column in "AB"}
    facts = {"tables": {"1": table}, "studies": {"1": study}, "cells": cells}
    article = SimpleNamespace(source=SOURCE, scale="small-cpu", **facts)
    note = Pictures(article, SOURCE.folder).differences("1", ["z"], "Over {}.")[3]
    said = (
        "Preliminary: 1 of 2. Over 5 seeds. At the floor, so that nothing is concluded: A. Scale small-cpu."
    )
    assert note == said
