from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace as Made

import pytest

from repro.manifest.cells import ShownExhibit, cells_of, table_of
from repro.manifest.papers import paper
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell
from repro.verdicts.verdict import Doubt, Verdict
from repro.writers import drawing

SCATTER = {"kind": "scatter", "points": [{"id": "q", "x": 0.0, "y": 0.0, "role": "query", "grade": None}]}
WORDS = {"kind": "shaded-words", "title": "t", "found": True, "words": [["a", 0.5]]}


@pytest.fixture
def drawn(tmp_path):
    """Draws exhibits given as (owner, label, exhibit, state); returns the names of the files."""

    def draw(*given, scale="tiny", **departures):
        exhibits, states = {}, {}
        for number, (owner, label, exhibit, state) in enumerate(given):
            (tmp_path / str(number)).mkdir(exist_ok=True)
            (tmp_path / str(number) / "exhibit.json").write_text(json.dumps(exhibit))
            shown = ShownExhibit(Made(name="paper"), owner, Made(id=label, label=label))
            exhibits[shown] = Made(fingerprint=str(number))
            states[str(number)] = state
        departed = dict.fromkeys(exhibits, departures)
        plan = Made(exhibits=exhibits, states=states, scale=Made(name=scale), departures=departed)
        store = Made(path=lambda node: tmp_path / node.fingerprint)
        return [path.name for path in drawing.draw_exhibits(plan, store, tmp_path)]

    return draw


def test_the_systems_of_a_figure_share_one_drawing(drawn):
    assert drawn(*[("figure-3", label, SCATTER, "stored") for label in "ab"]) == ["paper-figure3.svg"]


def test_what_is_not_stored_is_not_drawn(drawn, tmp_path):
    assert drawn(("figure-3", "a", SCATTER, "missing")) == []
    drawn(("figure-3", "a", SCATTER, "missing"), ("figure-3", "b", SCATTER, "stored"))
    lines = (tmp_path / "paper-figure3.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["system", "b"]


@pytest.mark.parametrize("scale, said", [("tiny", True), ("full", False)])
def test_a_scale_other_than_full_stands_on_the_face(drawn, tmp_path, scale, said):
    drawn(("4", "a", WORDS, "stored"), scale=scale)
    assert ("measured at scale" in (tmp_path / "paper-table4.html").read_text()) is said


def line(label, *values):
    return {"label": label, "points": [(float(x), y, None, None) for x, y in enumerate(values)]}


def _point(cell) -> ComparedCell:
    made = Record(cell.id, "tiny", 0.5, None, "f", 1, 0, cell.column.measure, cell.unit)
    return ComparedCell(cell, "tiny", (made,), Verdict("scaled", ""))


def test_a_point_says_its_seeds_commits_hours_and_doubts():
    of_seeds = [Record("c", "tiny", 0.5, seed, "f", 1, 0, "RR@10", "percent") for seed in (1, 2)]
    commits = [replace(r, environment={"commit": c}) for r, c in zip(of_seeds, "ba", strict=True)]
    cell = cells_of(paper("cotmae_v2"))[0]
    point = ComparedCell(cell, "tiny", tuple(commits), Verdict("scaled", ""))
    assert drawing._point_facts(point, {cell.id: 0.25}) == ("1 2", "a b", "0.2500", "")
    doubtful = replace(point, doubts=(Doubt("dirty tree", "changed"), Doubt("outdated", "older")))
    assert drawing._point_facts(doubtful, {}) == ("1 2", "a b", "", "outdated; dirty tree")


def test_points_that_are_not_of_the_manifest_as_it_is_are_counted_on_the_face(monkeypatch, tmp_path):
    notes = []
    monkeypatch.setattr(drawing.figures, "curves", lambda panels, path, *, note: notes.append(note))
    table = table_of(paper("cotmae_v2"), "figure-3")
    cells = [_point(cell) for cell in cells_of(paper("cotmae_v2"), (table,))]
    for doubts in ((), (Doubt("outdated", "the recipe has changed since this was measured"),)):
        list(drawing.draw_curves([replace(cells[0], doubts=doubts), *cells[1:]], tmp_path, hours={}))
    assert ["1 possibly measured with another recipe, manifest or seed" in note for note in notes] == [
        False,
        True,
    ]
