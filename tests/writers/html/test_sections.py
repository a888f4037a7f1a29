"""What the report gathers: drawings by their place, queries of stored rows, studies on their own."""

from repro.manifest.papers import paper
from repro.store.results import Results
from repro.writers.html.sections import drawings


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
