"""What the report gathers: drawings by their place, queries of stored rows, studies on their own."""

import json
from types import SimpleNamespace

from repro.manifest.papers import paper
from repro.store.results import Results
from repro.writers.html.scatter import MOST_QUERIES, Scatter, drawing, scatters
from repro.writers.html.sections import drawings
from tests.writers.html.toy import report


class _Store:
    """Scores of two rows, by fingerprint."""

    def __init__(self, root, **scores):
        self.root = root
        for name, values in scores.items():
            (root / name).mkdir()
            found = {"queries": [f"q{n:04}" for n in range(len(values))], "measures": {"RR@10": values}}
            (root / name / "scores.json").write_text(json.dumps(found), encoding="utf-8")

    def path(self, node):
        return self.root / node.fingerprint


def _plan(*rows):
    """A plan whose measurements are cells of the toy's first column, stored under the row's name."""
    cells = {c.cell.row.id: c.cell for c in report().compared if c.cell.column.id == "a"}
    measurements = [
        SimpleNamespace(cell=cells[row], parts=(SimpleNamespace(fingerprint=row),), measure="RR@10")
        for row in rows
    ]
    return SimpleNamespace(measurements=measurements, states=dict.fromkeys(rows, "stored"))


def test_rows_are_drawn_against_the_first_row_that_is_stored(tmp_path):
    store = _Store(tmp_path, **{"g.x": [0.0, 0.5, 1.0], "g.y": [1.0, 0.5, 0.0]})
    assert scatters(_plan("g.x", "g.y"), store, "toy") == {
        "1": [Scatter("Y", "X (First)", "RR@10", ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)), 3)]
    }
    assert scatters(_plan("g.x"), store, "toy") == {}
    assert scatters(_plan("g.x", "g.y"), store, "other") == {}


def test_many_queries_are_thinned_evenly_and_said_so(tmp_path):
    values = [n / 1000 for n in range(1000)]
    store = _Store(tmp_path, **{"g.x": values, "g.y": values})
    [found] = scatters(_plan("g.x", "g.y"), store, "toy")["1"]
    assert found.queries == 1000 and 300 < len(found.points) <= MOST_QUERIES
    assert f"{len(found.points)} of 1000 queries" in drawing(found)
    assert found.outcomes == f"0 above, {len(found.points)} equal, 0 below"


def test_equal_points_are_one_larger_dot():
    one = drawing(Scatter("Y", "X", "RR@10", ((1.0, 1.0),), 1))
    many = drawing(Scatter("Y", "X", "RR@10", ((1.0, 1.0),) * 9, 9))
    assert one.count("<circle") == many.count("<circle") == 1
    assert 'r="2.1"' in one and 'r="3.1"' in many


def test_drawings_are_found_by_their_paper_and_place(tmp_path):
    tmp_path = tmp_path / "figures/tiny"
    tmp_path.mkdir(parents=True)
    source = paper("simlm")
    for name in ("simlm-figure3.svg", "simlm-table9.md", "simlm-table9.csv", "simlm-table99.svg"):
        (tmp_path / name).touch()
    (tmp_path / "costa-figure3.svg").touch()
    by_owner = drawings(Results(tmp_path.parents[1]).figures(tmp_path.name), source)
    found = {owner: [path.name for path in paths] for owner, paths in by_owner.items()}
    assert found == {"figure-3": ["simlm-figure3.svg"], "9": ["simlm-table9.md"]}
    assert Results(tmp_path / "nowhere").figures("tiny") == []


def test_a_study_sees_the_measurements_of_its_own_table_only():
    from repro.manifest.cells import select
    from repro.running.plan import plan
    from repro.running.requirements import Machine
    from repro.running.scale import scale

    cells = select(("costa",), tables=("1", "4"), rows=(), cells=())
    whole = plan(cells, scale=scale("tiny"), machine=Machine())
    own = whole.of_table("costa", "4")
    assert {m.cell.table.id for m in own.measurements} == {"4"} and len(own.measurements) == 10
    assert len(whole.measurements) > 10
