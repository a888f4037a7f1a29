import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from repro.cli import cli
from repro.errors import ManifestError, UsageError
from repro.manifest.cells import cell, cells_of, exhibits, figure_tables, numeric_cells
from repro.manifest.papers import Paper, papers
from repro.store.results import Record, Results
from repro.verdicts.coverage import WAYS, CoverageItem, Tally, _coverage_item, coverage, refuse_open

EVERY = sorted(papers())
TABLE = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one system
  columns:
  - {id: dev, dataset: msmarco-passage/dev/small, measure: RR@10}
  rows:
  - {id: made, label: Made, recipe: words, cells: ["0.1"]}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    def paper(row: str) -> Paper:
        (tmp_path / "cells.yaml").write_text(f"{TABLE}  - {row}\n")
        made = Paper("toy", tmp_path, "papers.toy")
        monkeypatch.setitem(papers(), "toy", made)
        return made

    return paper


@pytest.mark.parametrize("name", EVERY)
def test_every_cell_point_and_view_of_every_manifest_has_exactly_one_way(name, tmp_path):
    source = papers()[name]
    found = coverage(source, Results(tmp_path))
    tables = (*source.manifest.tables, *figure_tables(source))
    expected = [*numeric_cells(source), *(c for c in cells_of(source, tables) if c.is_unpublished)]
    assert sorted(c.id for c in found) == sorted(c.id for c in (*expected, *exhibits((name,), ())))
    assert found and {c.way for c in found} <= set(WAYS) - {"run", "open"}
    for c in found:
        assert bool(c.reason) == (c.way == "not measurable") == (c.recipe is None), c.id
        assert not c.reason or len(c.reason.split()) >= 6, c.id


def test_a_cell_without_a_way_is_an_error_that_names_its_line(toy, tmp_path):
    source = toy('{id: lost, label: Lost, cells: ["0.2"]}')
    found = coverage(source, Results(tmp_path))
    assert [(c.id, c.way, c.recipe) for c in found if c.reason] == [("toy/1/lost/dev", "open", None)]
    with pytest.raises(ManifestError, match=r"cells\.yaml:10: .*toy/1/lost/dev has no recipe"):
        refuse_open(source, found)
    source = toy('{id: lost, label: Lost, cells: ["0.2"]}\n  - {id: gone, label: Gone, cells: ["0.3"]}')
    with pytest.raises(ManifestError, match=r"2 rows have open cells: 1/lost, 1/gone"):
        refuse_open(source, coverage(source, Results(tmp_path)))


def test_a_column_that_nobody_said_what_it_is_of_is_an_error_that_names_its_line(toy, tmp_path):
    source = toy('{id: x, label: X, recipe: words, cells: ["0.2"]}')
    path = tmp_path / "cells.yaml"
    path.write_text(path.read_text().replace(", dataset: msmarco-passage/dev/small, measure: RR@10", ""))
    with pytest.raises(ManifestError, match=r"cells\.yaml:7: .*toy/1/made/dev has no dataset and measure"):
        refuse_open(source, coverage(source, Results(tmp_path)))


def test_a_row_with_a_recipe_does_not_say_that_it_cannot_be_measured(toy):
    with pytest.raises(ManifestError, match="Keep one of the two"):
        toy('{id: x, label: X, recipe: words, not_measurable: for no reason, cells: ["0.2"]}').manifest  # noqa: B018


def test_dashes_and_words_are_no_cells(toy, tmp_path):
    found = coverage(toy('{id: x, label: X, cells: ["-"]}'), Results(tmp_path))
    assert [(c.id, c.way) for c in found] == [("toy/1/made/dev", "recipe")]


def test_a_column_that_nobody_can_measure_stands_above_a_rows_recipe(tmp_path):
    found = {c.id: c for c in coverage(papers()["simlm"], Results(tmp_path))}
    glue, retrieval = found["simlm/1/bert/glue"], found["simlm/1/bert/dev.rr10"]
    assert (glue.way, retrieval.way) == ("not measurable", "recipe") and "hidden labels" in glue.reason
    assert found["simlm/3/simlm/index-size"].way == "computed"


def test_an_imported_run_is_a_way_where_there_is_no_recipe_and_is_told_apart():
    own = Record("", "full", 0.5, None, "f", 10, 0, "nDCG@10", "percent")
    imported = replace(own, origin={"kind": "import"})
    bare, made = cell("simlm/2/dense.coil/dl19.ndcg10"), cell("simlm/2/sparse.bm25/dl19.ndcg10")
    assert _coverage_item(bare, [imported]).way == "run" and _coverage_item(bare, [imported]).reason == ""
    assert _coverage_item(made, [imported]).way == "recipe"
    assert _coverage_item(made, [imported]).measured == ("full, imported",)
    assert _coverage_item(made, [imported, own]).measured == ("full",)
    for other in (replace(own, measure="RR@10"), replace(own, readings={"seed": "two"})):
        assert _coverage_item(made, [imported, other]).measured == ("full, imported",)


def test_scales_are_counted_in_one_order_in_every_process():
    scales = ("full", "small", "tiny", *"abcdef")
    cells = [CoverageItem(name, "toy", "table 1", "recipe", scales) for name in "xy"]
    tally = Tally("toy", "table 1", cells).as_json()
    assert list(tally["measured"].items()) == [(s, 2) for s in scales]


def _said(results, *arguments):
    given = ["show", "coverage", *arguments, "--results", str(results)]
    done = CliRunner().invoke(cli, given, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.needs_plugins
def test_records_and_drawings_of_each_scale_are_counted(tmp_path):
    record = Record("simlm/5/bert/dev.rr10", "tiny", 42.0, None, "f", 10, 0, "RR@10", "percent")
    Results(tmp_path).append([record, replace(record, scale="tiny-long", measured=43.0)])
    (tmp_path / "figures/tiny").mkdir(parents=True)
    (tmp_path / "figures/tiny/simlm-table9.md").touch()
    rows = {row["what"]: row for row in json.loads(_said(tmp_path, "simlm", "--format", "json"))}
    measured = {what: row["measured"] for what, row in rows.items() if row["measured"]}
    assert measured == {"table 5": {"tiny": 1, "tiny-long": 1}}
    assert rows["table 9"]["apart"]["measured"] == {"tiny": 2}
    assert sum(rows["table 11"]["settings"].values()) == 18 and rows["table 11"]["cells"] == 0
    assert rows["table 11"]["nothing_to_measure"] == 0
    assert all(name.isidentifier() for row in rows.values() for name in row)
    for row in rows.values():
        counts = row, row["apart"]
        assert all(sum(c["ways"].values()) == c["cells"] for c in counts)
        assert sum(c["cells"] for c in counts) == len(row["detail"])


def test_people_see_a_line_per_table_their_sum_and_of_a_paper_alone_the_reasons(tmp_path):
    plain, told = _said(tmp_path).splitlines(), _said(tmp_path, "cpdae")
    fields = (re.split(r"\s{2,}", line.strip()) for line in told.splitlines() if line.strip())
    lines = {line[0]: line for line in fields}
    assert [*lines["all"][1:7], *lines["all"][-1:]] == ["100 +1", "98 +1", "–", "–", "–", "2", "–"]
    assert "table 4" in lines and "other groups submitted" not in "".join(plain)
    assert "table 1, best-trec-trad, 2 cells: runs that other groups submitted" in told


def test_an_unknown_paper_is_named(tmp_path):
    with pytest.raises(UsageError, match="'costs'"):
        _said(tmp_path, "costs")


def test_counting_needs_no_tensors():
    heavy = "{'torch', 'transformers', 'pandas', 'numpy'} & set(sys.modules)"
    program = (
        "import sys; from repro.cli.verbs.show import coverage; "
        "coverage(['--format', 'json'], standalone_mode=False); "
        f"sys.exit(len({heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
