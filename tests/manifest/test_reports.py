"""reports.yaml: what is refused, and what becomes of a value."""

from decimal import Decimal

import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest.cells import cell
from repro.manifest.reports import CellReport, Report, Source, read_reports, reports

CELL = "simlm/2/dense.ance/dev.rr10"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILE = {
    "who": "toolkit",
    "name": "Anserini",
    "repository": "castorini/anserini",
    "path": "a.md",
    "commit": COMMIT,
}
REPORT = {
    "cells": [CELL],
    "value": "33.02",
    "measure": "MRR@10",
    "dataset": "MS MARCO dev",
    "source": "anserini",
    "how": {"start": "checkpoint"},
}


def _read(folder, *entries, sources=None):
    content = {"sources": {"anserini": FILE} if sources is None else sources, "reports": list(entries)}
    (folder / "reports.yaml").write_text(yaml.safe_dump(content))
    return read_reports(folder, {CELL: cell(CELL)})


def test_a_report_is_read_with_its_place(tmp_path):
    content = _read(tmp_path, REPORT)
    assert content.sources["anserini"].address == f"https://github.com/castorini/anserini/blob/{COMMIT}/a.md"
    assert content.reports[0].value == "33.02"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": ["simlm/2/dense.ance/dev.rr11"]}, "is no cell with a published number"),
        ({"source": "pyserini"}, "'pyserini' is not among the sources"),
        ({"value": "33.0", "how": {"start": "unknown"}}, "repeats the published number"),
        ({"value": "about 33"}, "String should match pattern"),
        ({"how": {"start": "cited"}}, "Input should be"),
        ({"who": "me"}, "Extra inputs are not permitted"),
        ({"how": {"start": "run", "differs": ["fp16", "fp16"]}}, "the same difference is told twice"),
    ],
)
def test_a_report_that_is_none_is_refused_with_its_line(tmp_path, change, says):
    with pytest.raises(ManifestError, match=r"reports.yaml:\d+: .*" + says):
        _read(tmp_path, REPORT | change)


def test_the_same_report_twice_is_refused(tmp_path):
    with pytest.raises(ManifestError, match="the same report stands above"):
        _read(tmp_path, REPORT, REPORT)


def test_a_source_that_nothing_is_from_is_refused(tmp_path):
    with pytest.raises(ManifestError, match="no report is of this source"):
        _read(tmp_path, REPORT, sources={"anserini": FILE, "other": FILE})


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"repository": "a/b"},
        {"repository": "a/b", "path": "c.md"},
        {"repository": "a/b", "issue": 5},
        {"title": "A paper"},
        {"card": "a/b"},
        {"title": "A paper", "table": "2", "card": "a/b", "date": "2024-01-01"},
    ],
)
def test_a_source_without_one_place_is_refused(tmp_path, place):
    with pytest.raises(ManifestError, match="a source has one place"):
        _read(tmp_path, REPORT, sources={"anserini": {"who": "toolkit", "name": "x"} | place})


@pytest.mark.parametrize(
    ("value", "unit", "difference", "equal"),
    [
        ("33.0", "percent", "0.0", True),
        ("33.02", "percent", "0.02", True),
        ("33.1", "percent", "0.1", False),
        ("33", "percent", "0.0", True),
        ("0.3302", "fraction", "0.02", True),
        ("0.338", "fraction", "0.8", False),
    ],
)
def test_a_reported_value_beside_the_published_one(value, unit, difference, equal):
    report = Report(**REPORT | {"value": value, "unit": unit})
    made = CellReport(cell(CELL), report, Source(**FILE))
    assert (made.difference, made.equals_published) == (Decimal(difference), equal)


def test_every_report_of_the_papers_is_on_the_cell_that_it_names():
    assert all(made.cell.id == name for name, on in reports().items() for made in on)
