"""``repro show cells``: the same cells in each format."""

import csv
import io

import pytest

from repro.manifest.cells import numeric_cells
from repro.manifest.papers import papers


@pytest.mark.parametrize("name", sorted(papers()))
def test_json_and_csv_hold_every_numeric_cell_of_a_paper(repro, name):
    expected = [c.as_json() for c in numeric_cells(papers()[name])]
    assert repro("show cells", name, "--format", "json").json == expected
    rows = list(csv.DictReader(io.StringIO(repro("show cells", name, "--format", "csv").out)))
    assert [row["id"] for row in rows] == [c["id"] for c in expected]
    assert [row["printed"] for row in rows] == [c["printed"] for c in expected]
    assert all(None not in row for row in rows)


def test_people_see_a_line_a_cell(repro, toy):
    said = repro("show cells")
    lines = [line.split() for line in said.out.splitlines() if line.strip()]
    assert lines[0] == ["3", "published", "cells"]
    assert lines[3] == ["toy/1/bm25/dev", "0.1", "msmarco-passage/dev/small", "RR@10", "cited", "words"]
    assert [line[0] for line in lines[3:]] == ["toy/1/bm25/dev", "toy/1/bm25/dl", "toy/1/other/dev"]


def test_several_papers_may_be_named(repro):
    two = repro("show cells costa simlm --format json").json
    assert {c["paper"] for c in two} == {"costa", "simlm"}
