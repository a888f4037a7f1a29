"""others.yaml: what is refused, and what becomes of a value."""

import itertools
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest.cells import cell
from repro.plugins.reports.reports import (
    CellReport,
    Report,
    Source,
    folders,
    known_cells,
    read_reports,
    reports,
    searches,
)

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


def _read(folder, *entries, sources=None, cells=(CELL,)):
    content = {"sources": {"anserini": FILE} if sources is None else sources, "values": list(entries)}
    (folder / "others.yaml").write_text(yaml.safe_dump(content))
    return read_reports(folder, {name: cell(name) for name in cells})


def test_a_report_is_read_with_its_place(tmp_path):
    content = _read(tmp_path, REPORT)
    assert content.sources["anserini"].address == f"https://github.com/castorini/anserini/blob/{COMMIT}/a.md"
    assert content.values[0].value == "33.02"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": ["simlm/2/dense.ance/dev.rr11"]}, "is not a cell with a published number"),
        ({"source": "pyserini"}, "'pyserini' is not among the sources"),
        ({"value": "33.0", "how": {"start": "unknown"}}, "repeats the published number"),
        ({"value": "330"}, r"330 on .* is 330 in percent, above 100\. Check the unit"),
        ({"value": "0.3302"}, r"is less than 1/20 of the published 33\.0\. Check the unit"),
        ({"cells": [CELL, CELL]}, "a cell occurs twice"),
        ({"cells": [CELL, "simlm/2/dense.ance/dev.r1000"]}, "the cells have several measures: R@1000, RR@10"),
        ({"how": {"start": "run", "differs": ["fp16", "fp16"]}}, "a difference occurs twice"),
    ],
)
def test_a_report_that_is_none_is_refused_with_its_line(tmp_path, change, says):
    with pytest.raises(ManifestError, match=r"others.yaml:\d+: .*" + says):
        _read(tmp_path, REPORT | change, cells=(CELL, "simlm/2/dense.ance/dev.r1000"))


def test_the_same_report_twice_is_refused_where_they_share_a_cell_of_several(tmp_path):
    other = "costa/3/ance/dev.rr10"
    with pytest.raises(ManifestError, match="the same value occurs twice"):
        _read(tmp_path, REPORT, REPORT | {"cells": [other, CELL]}, cells=(CELL, other))


def test_a_place_under_two_names_is_refused_unless_others_report_there(tmp_path):
    other = REPORT | {"source": "other", "value": "33.1"}
    sources = {"anserini": FILE, "other": FILE | {"name": "Anserini's page"}}
    with pytest.raises(ManifestError, match="has the authors and the place of source 'anserini'"):
        _read(tmp_path, REPORT, other, sources=sources)
    sources["other"]["who"] = "authors"
    assert len(_read(tmp_path, REPORT, other, sources=sources).sources) == 2


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"date": "2024-02-30"}, "'2024-02-30' is not a day of the calendar"),
        ({"commit": "main"}, "String should match pattern"),
        ({"arxiv": "https://arxiv.org/abs/2104.08663"}, "String should match pattern"),
    ],
)
def test_a_place_that_cannot_be_opened_is_refused(tmp_path, changed, says):
    with pytest.raises(ManifestError, match=says):
        _read(tmp_path, REPORT, sources={"anserini": FILE | changed})


def test_an_entry_takes_over_what_is_shared_and_a_search_opens_a_list_of_it(tmp_path):
    """Under `shared` stands what entries repeat; an alias in a list of words stands for the words."""
    (tmp_path / "others.yaml").write_text(
        f"shared:\n- &place {json.dumps(FILE)}\n- &made {json.dumps(REPORT)}\n- &runs [a, b]\n"
        "sources: {anserini: *place}\nvalues: [{<<: *made, value: '33.1'}]\n"
        "searches: [{id: ance, places: [c, *runs], date: '2024-01-01'}]\n"
    )
    content = read_reports(tmp_path, {CELL: cell(CELL)})
    assert (content.values[0].value, content.values[0].measure) == ("33.1", "MRR@10")
    assert content.searches[0].places == ("c", "a", "b")


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"repository": "a/b", "path": "c.md"},
        {"title": "A paper", "table": "2"},
        {"card": "a/b"},
        {"title": "A paper", "table": "2", "doi": "10.1145/1", "card": "a/b", "date": "2024-01-01"},
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


def _every() -> list[CellReport]:
    return list(itertools.chain(*reports().values()))


ADDRESSES = (
    r"https://github\.com/[\w.-]+/[\w.-]+/blob/[0-9a-f]{40}/[\w./%+~@,=-]+",
    r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/[1-9]\d*",
    r"https://huggingface\.co/[\w.-]+/[\w.-]+(/tree/[0-9a-f]{40})?",
    r"https://arxiv\.org/abs/\d{2}(0[1-9]|1[0-2])\.\d{4,5}(v[1-9])?",
    r"https://doi\.org/10\.\d{4,9}/[\w./()-]+",
)


def test_every_place_has_an_address_of_a_kind_that_stays():
    addresses = {made.source.address for made in _every()}
    assert len(addresses) > 100
    assert [address for address in addresses if not re.fullmatch("|".join(ADDRESSES), address)] == []


def test_nothing_was_reported_or_looked_for_in_the_future():
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    looked = [search.date for made in searches().values() for search in made]
    assert max([made.source.date for made in _every()] + looked) <= tomorrow


def test_a_report_of_a_checkpoint_beyond_doubt_is_of_the_size_of_the_published_number():
    sure = [made for made in _every() if made.report.match == "exact"]
    far = {
        (made.cell.id, made.report.value)
        for made in sure
        if not Decimal("0.5") < made.value / made.cell.printed.value < 2
    }
    assert len(sure) > 250 and far == set()


def test_no_value_of_a_cell_stands_in_two_files_or_under_two_sources_of_a_place():
    named: dict[tuple, set[str]] = {}
    for folder in folders():
        content = read_reports(folder, known_cells())
        for report in content.values:
            source = content.sources[report.source]
            place = (source.address, source.table, source.date)
            for name in report.cells:
                key = (*place, name, report.value, report.measure, report.at)
                named.setdefault(key, set()).add(f"{folder.name}/{report.source}")
    assert {key: names for key, names in named.items() if len(names) > 1} == {}


def test_one_who_reports_states_a_number_once():
    """Settings of one table may agree; the same number at two places of the same people is a copy."""
    stated: dict[tuple, set[str]] = {}
    for made in _every():
        by = (made.source.who, made.source.name)
        key = (by, made.cell.id, made.value, made.report.how.start, made.report.how.differs)
        stated.setdefault(key, set()).add(made.report.source)
    assert {key: places for key, places in stated.items() if len(places) > 1} == {}


def test_one_paper_has_one_name():
    names: dict[str, set[str]] = {}
    for made in _every():
        if made.source.title:
            names.setdefault(made.source.title, set()).add(made.source.name)
    titled = {title: found for title, found in names.items() if len(found) > 1}
    given = {made.source.name for made in _every()}
    apart = {title: found for title, found in names.items() if title in given and found != {title}}
    assert (titled, apart) == ({}, {})


def test_a_report_on_a_ranking_cut_elsewhere_is_loose():
    apart = {
        made.report.source: made.report.match
        for made in _every()
        if (cut := re.search(r"MRR@(\d+)", made.report.measure))
        and made.cell.column.measure.startswith("RR@")
        and cut[1] != made.cell.column.measure.removeprefix("RR@")
    }
    assert apart == {"coil-documents": "loose", "seed-readme": "loose"}


def _searched():
    return {search.id: search for group in searches().values() for search in group}


def test_a_system_that_a_paper_only_cites_was_looked_for():
    known = _searched().keys()
    cells = [c for c in known_cells().values() if c.counted_as == "published" and c.role == "cited"]
    assert cells and {c.row.system for c in cells if not {c.row.system, c.row.group} & known} == set()


def test_a_search_that_found_nothing_names_its_places():
    found = {name for made in _every() for name in (made.cell.row.system, made.cell.row.group)}
    silent = [search for name, search in _searched().items() if name not in found]
    assert silent and all(s.queries and (s.places or s.in_vain) for s in silent)
