"""Cells that mean one quantity are joined by the reports on them."""

from decimal import Decimal

from repro.manifest.cells import cell
from repro.plugins.reports.quantities import label_of, published_cells, quantities, system_of
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
