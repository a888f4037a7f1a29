"""``repro show settings`` of a made paper with a released encoder."""

import pytest

from repro.manifest.papers import Paper, papers
from tests.cli.conftest import rows_of_table

CELLS = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one system
  columns: [{id: dev, head: [Dev], dataset: msmarco-passage/dev/small, measure: RR@10}]
  rows:
  - {id: tas-b, label: TAS-B, recipe: "papers.baselines.released:retriever", with: {system: tas-b}, cells: ["0.1"]}
- id: "2"
  kind: hyperparameters
  about: settings
  columns: [{id: encoder, head: [Encoder]}]
  rows:
  - {id: depth, label: depth, cells: ["1k"]}
  - {id: gpus, label: GPUs, cells: ["4"]}
  - {id: epochs, label: epochs, cells: ["n.a."]}
"""
SETTINGS = """\
steps:
- {id: checkpoint, rows: [toy/1], nodes: {stage: released}, settings: {
    name: {published: sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco, where: §1},
    pooling: {published: cls, where: §1}}}
- {id: search, rows: [toy/1/tas-b], nodes: {stage: search}, settings: {
    depth: {cell: toy/2/depth/encoder}, epochs: {cell: toy/2/epochs/encoder}}}
- {id: vectors, rows: [toy/1], nodes: {stage: encode}, settings: {
    length: {published: 512, where: §2}, pooling: {published: cls, where: §2},
    normalize: {published: false, where: §2}, separator: {published: {any: [null, ""]}, where: §2},
    precision: {published: fp16, planned: fp32, reading: precision, where: §2}}}
elsewhere:
- {what: GPUs, cell: toy/2/gpus/encoder, because: hardware is no parameter of a stage}
"""
READINGS = """\
- {id: precision, kind: conflict, against: code, where: §2, paper: half, choices: {full: fp32}, default: full, cells: [toy/1]}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "cells.yaml").write_text(CELLS)
    (folder / "settings.yaml").write_text(SETTINGS)
    (folder / "readings.yaml").write_text(READINGS)
    monkeypatch.setitem(papers(), "toy", Paper("toy", folder, "papers.baselines"))
    return folder


def test_each_parameter_has_what_is_stated_what_is_planned_and_a_verdict(repro, toy):
    said = repro("show settings toy --strict")
    assert said.status == 0
    tables = {table.partition("\n")[0]: table for table in said.out.split("toy: ")}
    depth, _ = rows_of_table(tables["search"], "parameter")
    assert depth == ["depth", "1000", "", "1000", "as published", "1/tas-b"]
    departing = ["precision", "fp16", "", "fp32", "departs by precision", "1/tas-b"]
    assert departing in rows_of_table(tables["vectors"], "parameter")
    assert said.err.splitlines()[-1] == "8 as published, 1 departs, 1 no parameter"


def test_cells_of_a_table_of_settings_have_a_verdict_each(repro, toy):
    assert rows_of_table(repro("show settings toy --table 2").out, "cell") == [
        ["toy/2/gpus/encoder", "4", "GPUs", "", "no parameter: hardware is no parameter of a stage"],
        ["toy/2/depth/encoder", "1k", "depth", "1000", "as published"],
        ["toy/2/epochs/encoder", "n.a.", "epochs", "", "as published"],
    ]
    said = repro("show toy/2/depth/encoder")
    assert "planned:       1000 (depth of search), as published" in said.out
    assert "2 of 3" in repro("show coverage toy").out


def test_what_several_rows_say_alike_of_a_cell_is_said_once(repro, toy):
    row = next(line for line in CELLS.splitlines() if "id: tas-b" in line)
    (toy / "cells.yaml").write_text(CELLS.replace(row, f"{row}\n{row.replace('id: tas-b', 'id: other')}"))
    (toy / "settings.yaml").write_text(SETTINGS.replace("toy/1/tas-b", "toy/1"))
    assert repro("show toy/2/depth/encoder").out.count("planned:") == 1


def test_what_fails_is_listed_alone_and_is_an_exit_status_when_strict(repro, toy):
    (toy / "settings.yaml").write_text(SETTINGS.replace("published: 512", "published: 128"))
    said = repro("show settings toy --failing --format json --strict")
    assert said.status == 1
    [failure] = said.json
    assert failure["parameter"] == "length" and failure["planned"] == 512
    assert failure["says"] == "the plan has 512 instead of 128"
    assert repro("show settings toy --failing").status == 0


def test_a_cell_of_settings_that_nothing_takes_up_fails(repro, toy):
    (toy / "settings.yaml").write_text(SETTINGS.partition("elsewhere")[0])
    [failure] = repro("show settings toy --failing --format json").json
    assert failure["cell"] == "toy/2/gpus/encoder"
    assert "settings.yaml does not name this cell" in failure["says"]


@pytest.mark.parametrize("selected", [["--row", "tas-b"], ["--table", "1"]])
def test_rows_and_tables_are_selected(repro, toy, selected):
    assert len(repro("show settings toy", *selected, "--format", "json").json) == 9


def test_a_selection_of_nothing_is_refused(repro, toy):
    for selected, sentence in {
        "toy --table 3": "'3' is not a known table or figure with settings. Known: 1",
        "toy --table 1 --table 3": "'3' is not a known table or figure with settings. Known: 1",
        "toy --row tsa-b": "'tsa-b' is not a known row with settings. Did you mean tas-b? Known: tas-b",
    }.items():
        assert repro("show settings", *selected.split()).refusal.startswith(sentence)


def test_a_cell_is_shown_with_the_settings_of_its_row(repro, toy):
    brief, whole = repro("show toy/1/tas-b/dev").out, repro("show toy/1/tas-b/dev --verbose").out
    counts = "settings:      of the row at scale full: 8 as published, 1 departs (`repro show settings toy --table 1 --row tas-b`)"
    assert counts in brief and "  departures   vectors: precision fp16 → fp32 (departs by precision)" in brief
    assert "normalize false (as published)" in whole and "(as published)" not in brief
    assert len(repro("show toy/1/tas-b/dev --format json").json["settings"]) == 9


def test_comparing_a_whole_paper_counts_its_settings_by_themselves(repro, toy):
    said = repro("compare toy")
    assert "toy publishes 3 settings in tables: 1 no parameter, 2 as published" in said.err


def test_the_report_has_the_settings_of_each_paper(repro, toy, tmp_path):
    assert repro("report toy -o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert '<section id="toy/settings">' in page
    assert r'<a href=\"#toy/settings\">","8 as published, 1 departs"' in page
    assert "<td>departs by precision</td>" in page and "hardware is no parameter of a stage" in page
