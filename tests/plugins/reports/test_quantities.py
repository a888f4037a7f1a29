"""Cells that mean one quantity, systems, and how near reports come to published numbers."""

from decimal import Decimal

import pytest

from repro.manifest.cells import cell
from repro.plugins.reports.quantities import (
    OTHERS,
    label_of,
    nearnesses,
    published_cells,
    quantities,
    system_of,
    systems,
)
from repro.plugins.reports.reports import reports
from tests.plugins.reports.reports_of import BM25, FRACTION, PERCENT, report
from tests.plugins.reports.reports_of import quantities as made


def test_cells_with_one_report_are_one_quantity_and_the_report_is_counted_once():
    [ance] = made(report("0.331", FRACTION, PERCENT, unit="fraction"), report("33.2", PERCENT))
    assert ance.system == "ance" and len(ance.cells) == 2 and len(ance.entries) == 2
    assert ance.span == (Decimal("33.1"), Decimal("33.2"))


def test_cells_without_a_report_in_common_are_two():
    assert len(made(report("33.1", PERCENT), report("18.4", BM25))) == 2


def test_a_fraction_and_the_same_percentage_are_one_published_number():
    [ance] = made(report("33.1", FRACTION, PERCENT))
    assert {str(value): len(cells) for value, cells in ance.published.items()} == {"33.0": 2}


def test_papers_that_print_different_numbers_of_one_quantity_are_told_apart():
    [bm25] = made(report("18.7", BM25, "costa/1/sparse.bm25/dev.rr10", "cotmae_v2/1/bm25/dev.rr10"))
    assert [(str(value), len(cells)) for value, cells in bm25.published.items()] == [("18.7", 2), ("18.5", 1)]


def test_a_stage_belongs_to_the_system_that_its_group_names():
    assert system_of(cell("simlm/6/cocondenser.bm25-negatives/dev.rr10")) == "cocondenser"
    assert system_of(cell("costa/1/bm25neg.costa/dev.rr10")) == "costa"


def test_a_label_has_no_citation():
    assert (label_of("tas-b"), label_of("seed"), label_of("ance")) == ("TAS-B", "SEED", "ANCE")


def test_every_report_of_the_papers_is_in_exactly_one_quantity():
    on = [entry.made.report for quantity in quantities() for entry in quantity.entries]
    assert len({id(one) for one in on}) == len(on)
    assert {id(one) for one in on} == {id(r.report) for of_cell in reports().values() for r in of_cell}
    assert sum(len(q.cells) for q in quantities()) == len(reports()) <= len(published_cells())


def _lines(*stated):
    return {(line.kind, line.by): line for line in nearnesses(made(*stated))}


def test_a_cell_counts_once_by_its_nearest_and_its_median_report():
    lines = _lines(
        report("33.0", FRACTION, PERCENT),
        report("32.6", FRACTION, PERCENT),
        report("32.4", FRACTION, PERCENT),
    )
    line = lines["released model or run", "all"]
    assert (line.reports, line.cells, line.numbers, line.single) == (3, 2, 1, 0)
    assert (line.equal, line.always, line.within, line.lower, line.higher) == (2, 0, (2, 2), 2, 0)
    assert (line.signed, line.size) == (pytest.approx(-0.4), pytest.approx(0.4))


def test_one_number_of_several_tables_counts_once_among_the_distinct():
    line = _lines(report("33.0", FRACTION, PERCENT), report("18.0", BM25))["released model or run", "all"]
    assert (line.equal, line.cells) == (2, 3) and (line.equal_numbers, line.numbers) == (1, 2)


def test_points_are_of_a_percentage_where_the_cell_is_a_fraction():
    line = _lines(report("0.333", FRACTION, unit="fraction"))["released model or run", "all"]
    assert (line.within, line.higher, line.signed) == ((0, 1), 1, pytest.approx(0.3))


def test_training_again_is_counted_by_itself_and_by_how():
    lines = _lines(report("33.1", PERCENT, start="trained"), report("18.0", BM25, start="fine-tuned"))
    assert lines["training again", "all"].cells == 2
    assert lines["training again", "trained from the start"].within == (1, 1)
    assert ("released model or run", "all") not in lines


def test_a_loose_match_is_counted_nowhere():
    assert _lines(report("33.0", PERCENT, match="loose")) == {}


def test_what_authors_state_themselves_can_be_left_out():
    lines = _lines(report("33.0", PERCENT, who="authors", by="makers"), report("32.0", PERCENT))
    assert lines["released model or run", "all"].equal == 1
    assert lines["released model or run", OTHERS].equal == 0
    assert lines["released model or run", "the authors elsewhere"].reports == 1


def test_a_difference_within_the_rounding_is_neither_lower_nor_higher():
    line = _lines(report("33.04", PERCENT))["released model or run", "all"]
    assert (line.lower, line.higher, line.equal, line.always) == (0, 0, 1, 1)


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
