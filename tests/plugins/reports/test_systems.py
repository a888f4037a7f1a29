"""Every system of the tables, whether or not somebody reports on it."""

from repro.plugins.reports.quantities import published_cells, systems


def test_every_published_number_is_of_one_system():
    cells = [cell.id for system in systems() for cell in system.cells]
    assert sorted(cells) == sorted(cell.id for cell in published_cells())


def test_a_system_that_a_paper_did_not_make_itself_was_looked_for():
    cited = {system.id for system in systems() if not system.search and system.cells[0].role == "cited"}
    assert cited == set()


def test_a_search_that_found_nothing_names_its_places():
    silent = [system for system in systems() if system.search and not system.reports]
    assert silent
    assert all(s.search.queries and (s.search.places or s.search.in_vain) for s in silent)


def test_reports_are_counted_by_who_makes_them_once():
    [ance] = [system for system in systems() if system.id == "ance"]
    entries = {id(made.report) for made in ance.reports}
    assert ance.authors + ance.others == len(entries) < len(ance.reports)
    assert ance.cells_with_value <= len(ance.cells)
