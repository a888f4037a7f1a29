from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace as Made

import pytest

from repro.manifest.cells import ShownExhibit, cells_of, table_of
from repro.manifest.papers import paper
from repro.manifest.schema import Figure
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
        plan = Made(
            exhibits=exhibits,
            states=states,
            scale=Made(name=scale),
            departures=dict.fromkeys(exhibits, departures),
        )
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


def test_each_text_of_a_table_has_its_page(drawn):
    assert drawn(("4", "a", WORDS, "stored")) == ["paper-table4.html"]
    pages = drawn(*[("4", label, WORDS, "stored") for label in "ab"])
    assert pages == ["paper-table4-1.html", "paper-table4-2.html"]


@pytest.mark.parametrize("scale, said", [("tiny", True), ("full", False)])
def test_a_scale_other_than_full_stands_on_the_face(drawn, tmp_path, scale, said):
    drawn(("4", "a", WORDS, "stored"), scale=scale)
    assert ("measured at scale" in (tmp_path / "paper-table4.html").read_text()) is said


def test_another_reading_than_the_default_stands_on_the_face(drawn, tmp_path):
    drawn(("4", "a", WORDS, "stored"), scale="full", titles="none")
    assert "titles: none" in (tmp_path / "paper-table4.html").read_text()


@pytest.mark.parametrize(
    "measured, spread", [([0.2], (None, None)), ([0.2, 0.5, 0.3], (0.2, 0.5))], ids=["one seed", "three"]
)
def test_a_point_has_the_extremes_over_seeds_as_its_band(measured, spread):
    records = [Made(measured=value) for value in measured]
    compared = Made(cell=Made(row=Made(with_={"queries": 500})), measured=0.3, records=records)
    assert drawing._point(compared, "queries") == (500.0, 0.3, *spread)
    assert drawing._point(compared, None)[0] is None


def test_a_record_without_a_commit_adds_nothing_to_the_commits_of_a_point():
    records = [Made(seed=n, environment=e) for n, e in enumerate([{}, {"commit": "b"}, {"commit": "a"}])]
    compared = Made(cell=Made(id="c"), records=records, doubts=())
    assert drawing._origin(compared, {}) == ("0 1 2", "a b", "", "")


def line(label, *values):
    return {"label": label, "points": [(float(x), y, None, None) for x, y in enumerate(values)]}


def test_a_printed_t_test_is_made_over_the_points_of_both_lines():
    tested = Made(test=Made(kind="t"))
    panel = {"y_label": "MRR@10", "series": [line("a", 0.4, 0.5, 0.6), line("b", 0.1, 0.2, 0.3)]}
    (told,) = drawing._tests(tested, [panel])
    assert told.startswith("MRR@10, a against b: t(4) = 3.67, p = 0.021")
    assert not list(drawing._tests(Made(test=None), [panel]))
    assert not list(drawing._tests(tested, [panel | {"series": panel["series"][:1]}]))


def _point(cell) -> ComparedCell:
    made = Record(cell.id, "tiny", 0.5, None, "f", 1, 0, cell.column.measure, cell.unit)
    return ComparedCell(cell, "tiny", (made,), Verdict("scaled", ""))


def test_a_point_says_its_seeds_commits_hours_and_doubts():
    of_seeds = [Record("c", "tiny", 0.5, seed, "f", 1, 0, "RR@10", "percent") for seed in (1, 2)]
    commits = [replace(r, environment={"commit": c}) for r, c in zip(of_seeds, "ba", strict=True)]
    cell = cells_of(paper("cotmae_v2"))[0]
    point = ComparedCell(cell, "tiny", tuple(commits), Verdict("scaled", ""))
    assert drawing._origin(point, {cell.id: 0.25}) == ("1 2", "a b", "0.2500", "")
    doubtful = replace(point, doubts=(Doubt("dirty tree", "changed"), Doubt("outdated", "older")))
    assert drawing._origin(doubtful, {}) == ("1 2", "a b", "", "outdated; dirty tree")


def test_points_that_are_not_of_the_manifest_as_it_is_are_counted_on_the_face(monkeypatch, tmp_path):
    notes = []
    monkeypatch.setattr(drawing.figures, "curves", lambda panels, path, *, note: notes.append(note))
    table = table_of(paper("cotmae_v2"), "figure-3")
    cells = [_point(cell) for cell in cells_of(paper("cotmae_v2"), (table,))]
    for doubts in ((), (Doubt("outdated", "the recipe has changed since this was measured"),)):
        list(drawing.draw_curves([replace(cells[0], doubts=doubts), *cells[1:]], tmp_path, hours={}))
    assert ["1 not known to be measured as the manifest is now" in note for note in notes] == [False, True]


LINES = [
    {
        "id": f"{name}-{width}",
        "label": f"{name}, {width}",
        "method": name,
        "recipe": "r",
        "with": {"width": width},
    }
    for width in (2, 4)
    for name in ("Base", "Ours")
]
SIZES = {
    "id": "sizes",
    "about": "a toy",
    "across": "width",
    "panels": [{"id": "rr", "head": ["Toy", "MRR@10"]}],
    "lines": [*LINES, {"id": "level", "label": "level", "recipe": "r"}],
}


def test_every_width_has_a_panel_and_a_line_without_one_is_in_each():
    faces = drawing._faces(Figure.model_validate(SIZES))
    assert [(title, [line.id for line in lines]) for _, title, lines in faces] == [
        ("Toy (2)", ["Base-2", "Ours-2", "level"]),
        ("Toy (4)", ["Base-4", "Ours-4", "level"]),
    ]


def test_panels_across_an_option_that_no_line_has_are_refused():
    with pytest.raises(ValueError, match="line 'Base, 2' has no option 'depth'"):
        Figure.model_validate({**SIZES, "across": "depth"})
