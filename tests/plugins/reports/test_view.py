"""Counts of how near reported values come to published numbers."""

import pytest

from repro.manifest.cells import cell
from repro.plugins.reports.reports import CellReport, Report, Source
from repro.plugins.reports.view import COUNTS, OTHERS, nearnesses

FRACTION, PERCENT = "costa/3/ance/dev.rr10", "simlm/2/dense.ance/dev.rr10"
BM25 = "simlm/2/sparse.bm25/dev.rr10"  # 18.5, where others print 18.7
PLACE = {"repository": "a/b", "issue": 5, "date": "2024-01-01"}
RELEASED = "released model or run"


def report(value, *cells, unit="percent", start="checkpoint", match="exact", by="x", who="toolkit"):
    stated = {"measure": "MRR@10", "dataset": "dev", "source": by, "value": value, "unit": unit}
    return Report(cells=cells, match=match, how={"start": start}, **stated), Source(who=who, name=by, **PLACE)


def lines(*made):
    by_cell: dict = {}
    for one, source in made:
        for name in one.cells:
            by_cell.setdefault(name, []).append(CellReport(cell(name), one, source))
    return {
        line.label: {**dict(zip(COUNTS, line.counts, strict=True)), "size": line.size}
        for line in nearnesses(by_cell)
    }


def test_a_cell_counts_once_by_its_nearest_and_its_median_report():
    line = lines(*(report(value, FRACTION, PERCENT) for value in ("33.0", "32.6", "32.4")))[RELEASED]
    assert line == {
        **{"values": 3, "cells": 2, "distinct numbers": 1, "one value only": 0},
        **{"equal": 2, "equal, of distinct numbers": 1, "equal in every value": 0},
        **{"within 0.1": 2, "within 0.5": 2, "median lower": 2, "median higher": 0},
        "size": pytest.approx(0.4),
    }


def test_cells_without_a_report_in_common_are_two_quantities_though_the_number_is_the_same():
    line = lines(report("33.1", PERCENT), report("0.331", FRACTION, unit="fraction"))[RELEASED]
    assert (line["cells"], line["distinct numbers"], line["one value only"]) == (2, 2, 2)


def test_papers_that_print_different_numbers_of_one_quantity_are_counted_apart():
    line = lines(report("18.7", BM25, "costa/1/sparse.bm25/dev.rr10", "cotmae_v2/1/bm25/dev.rr10"))[RELEASED]
    assert (line["values"], line["cells"], line["distinct numbers"], line["equal"]) == (1, 3, 2, 2)


def test_points_are_of_a_percentage_where_the_cell_is_a_fraction():
    line = lines(report("0.333", FRACTION, unit="fraction"))[RELEASED]
    assert (line["within 0.1"], line["within 0.5"], line["median higher"]) == (0, 1, 1)
    assert line["size"] == pytest.approx(0.3)


def test_training_again_is_counted_by_itself_and_by_how():
    found = lines(report("33.1", PERCENT, start="trained"), report("18.0", BM25, start="fine-tuned"))
    assert found["training again"]["cells"] == 2 and RELEASED not in found
    assert found["– trained from the start"]["within 0.1"] == 1


def test_a_loose_match_is_counted_nowhere():
    assert lines(report("33.0", PERCENT, match="loose")) == {}


def test_values_of_the_authors_are_left_out_of_a_line():
    found = lines(report("33.0", PERCENT, who="authors", by="makers"), report("32.0", PERCENT))
    assert (found[RELEASED]["equal"], found[f"– {OTHERS}"]["equal"]) == (1, 0)


def test_a_difference_within_the_rounding_is_neither_lower_nor_higher():
    line = lines(report("33.04", PERCENT))[RELEASED]
    sides = line["median lower"], line["median higher"]
    assert (*sides, line["equal"], line["equal in every value"]) == (0, 0, 1, 1)
