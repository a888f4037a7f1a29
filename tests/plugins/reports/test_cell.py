from repro.manifest.cells import cell
from repro.plugins.reports.reports import Reports, Search, faults, known_cells
from repro.plugins.reports.view import in_words, run_places

IDS = ("cotmae_v2/3/bm25/touche2020", "cotmae_v2/3/bm25/nq", "cotmae_v2/3/dpr/fiqa")


def test_it_is_said_where_a_run_of_the_system_on_the_collection_lies():
    words = [str(place) for place in run_places([cell(id) for id in IDS])]
    assert "multifield" in words[0] and "one field" in words[1] and words[2].startswith("none found in ")


def test_cells_are_counted_by_where_a_run_is_without_those_that_nobody_looked_for():
    cells = [cell(id) for id in (*IDS, "costa/4/base/dev.rr10")]
    assert in_words(run_places(cells)) == "1 at hand, 1 elsewhere, 1 not found"


def test_a_collection_that_no_cell_of_the_system_is_on_is_refused():
    search = Search(id="dpr", runs={"dpr-w100": "a place", "msmarco": "a place"}, date="2026-11-26")
    [(place, says)] = faults(Reports(searches=(search,)), known_cells())
    assert place == ("searches", 0, "runs") and says == "no cell of dpr is on 'msmarco'"
