"""``repro show``: tables, figures and cells."""

from pathlib import Path

import pytest

import repro as repro_package
from repro.manifest.cells import numeric_cells
from repro.manifest.papers import papers
from repro.running.cell_readings import CellReadings
from tests.cli.conftest import CELL

TABLE = """\
toy table 1: one system (fraction; published)

       dev   dl
────────────────
BM25   0.1  0.2*
Other  0.1    –

* better than other by the test of the caption
"""


def _plain(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def test_a_table_is_shown_as_printed_with_what_its_marks_mean(repro, toy, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert _plain(repro("show toy --table 1").out) == _plain(TABLE)


def test_a_study_which_publishes_nothing_says_what_shows_its_numbers(repro, toy, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    toy.write_text(toy.read_text().replace("about: one system", "about: one system\n  kind: study"))
    told = "results: `repro compare toy --table 1 --scale SCALE`"
    expected = f"toy table 1: one system\nrows: BM25; Other\ncolumns: dev; dl\n{told}"
    assert _plain(repro("show toy --table 1").out) == _plain(expected)


@pytest.mark.parametrize("line", ["show toy/1/bm25/dev", "audit claims toy", "compare toy", "show cells"])
def test_names_in_json_are_names_in_a_program_and_published_is_what_a_paper_prints(repro, toy, line):
    said = repro(line, "--format", "json").json
    names = set(said if isinstance(said, dict) else said[0])
    assert all(name.isidentifier() for name in names) and "print" not in names


@pytest.mark.parametrize("name", sorted(papers()))
def test_every_table_and_figure_can_be_shown_to_people_and_programs(repro, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    manifest = papers()[name].manifest
    shown = repro("show", name, "--format", "json").json
    assert [item["id"] for item in shown] == [item.id for item in [*manifest.tables, *manifest.figures]]
    said = repro("show", name)
    assert said.status == 0 and said.err == ""
    for table in manifest.tables:
        assert f"{name} table {table.id}: " in said.out
    for figure in manifest.figures:
        assert f"{name} figure {figure.id}: " in said.out


def test_a_quoted_cell_names_its_own_measure_and_whose_readings_it_rests_on(repro):
    said = repro("show cotmae_v2/1/simlm/dev.r1000").out
    assert "R@1k (R@1000 on msmarco-passage/dev/small)" in said
    assert "readings of simlm, which has the recipe" in said
    own = repro("show cotmae_v2/1/cotmae_v2/dev.r1000").out
    assert "R@1k (Success@1000 on msmarco-passage/dev/small)" in own and "whose recipe" not in own


@pytest.mark.parametrize("name", sorted(papers()))
def test_a_cell_of_every_table_is_shown_with_its_facts(repro, name):
    readings = CellReadings()
    for cell in {c.table.id: c for c in numeric_cells(papers()[name])}.values():
        facts = repro("show", cell.id, "--format", "json").json
        assert facts["id"] == cell.id and facts["printed"] == cell.text
        assert facts["value"] == float(cell.printed.value)
        assert sorted(facts["readings"]) == sorted(readings.of(cell))


COSTA, DEEP = "costa/1/hardneg.costa/dev.rr10", "costa/1/sparse.bm25/dev.r1000"


def test_a_cell_says_what_was_measured_of_it_at_each_scale_and_how_to_measure_it(repro, measured):
    facts = {s["scale"]: s for s in repro(f"show {CELL} --format json").json["standings"]}
    assert list(facts) == ["full", "tiny"]
    assert facts["full"]["verdict"] == "blocked" and facts["tiny"]["verdict"] == "scaled"
    lines = repro(f"show {CELL}").out.splitlines()
    [tiny] = [line for line in lines if line.startswith("tiny: ")]
    assert f" {facts['tiny']['measured']:.3f} (150 queries of tiny/passage/dev, 20" in tiny
    assert tiny.endswith("; scaled: measured at scale tiny, which is not compared with the published numbers")
    assert f"measure it:    repro run {CELL}" in lines
    assert repro(f"run {DEEP} --scale tiny").status == 0
    [tiny] = [line for line in repro(f"show {DEEP}").out.splitlines() if line.startswith("tiny: ")]
    assert "(150 queries of tiny/passage/dev, 20" in tiny
    assert ", only the first 100 documents per query); sc" in tiny
    assert f"try it:        repro run {CELL} --scale tiny" in lines


def test_a_cell_that_nothing_was_measured_of_says_all_that_is_lacking(repro, monkeypatch):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: None)
    [full] = [line for line in repro(f"show {COSTA}").out.splitlines() if line.startswith("full: ")]
    lacking = "a GPU, bert-base-uncased, lists/stopwords.txt, wikipedia, msmarco-passage ("
    assert f"blocked: lacks {lacking}" in full


def test_the_weightiest_readings_of_a_cell_come_first(repro):
    changes = repro(f"show {COSTA} --format json").json["changes"]
    assert list(dict.fromkeys(changes.values())) == ["pre-training", "fine-tuning", "nothing here"]
    assert changes["span-start"] == "pre-training" and changes["fine-tuning-loss"] == "fine-tuning"
    assert changes["dev-recall"] == "nothing here"
    recall = repro("show", COSTA.replace("rr10", "r1000"), "--format", "json").json["changes"]
    assert recall["dev-recall"] == "scoring"
    out = repro(f"show {COSTA}").out
    places = [out.index(words) for words in ("span-start", "fine-tuning-loss", "about this cell, without")]
    assert places == sorted(places) and len(out.splitlines()) <= 40
    assert len(repro(f"show {COSTA} --verbose").out.splitlines()) > len(out.splitlines())


LINKED = "'Albert-Ma/COSTA@3e431d4, README.md'"
PUBLIC = "costa/1/sparse.bm25/dl19.ndcg10"
STUDY = "head_to_head/1/bert/dev.rr10"


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        (COSTA, [f"import run FILE {COSTA} --source {LINKED}", f"run {COSTA} --scale tiny", f"run {COSTA}"]),
        (PUBLIC, ["import run --public DIR", f"run {PUBLIC} --scale tiny", f"run {PUBLIC}"]),
        (STUDY, [f"run {STUDY} --scale tiny", f"run {STUDY}"]),
    ],
)
def test_what_can_be_done_here_comes_before_a_measurement_that_is_blocked(repro, monkeypatch, name, commands):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: None)
    facts = repro("show", name, "--format", "json").json
    assert facts["commands"] == [f"repro {command}" for command in commands]
    lines = repro("show", name).out.splitlines()
    assert [line[15:] for line in lines if line[15:] in facts["commands"]] == facts["commands"]
    files = [line.split()[2] for line in lines if line.startswith("public run: ")]
    assert files == facts["public_runs"] and bool(files) == (name == PUBLIC)


def test_scores_that_are_kept_with_the_records_are_named_before_what_is_blocked(repro, monkeypatch):
    monkeypatch.setenv("REPRO_RESULTS", str(Path(repro_package.__file__).parents[1] / "results"))
    first, *_ = repro(f"show {STUDY} --format json").json["commands"]
    assert first == "repro tables head_to_head --table 1 --scale small-cpu --seeds 1,2,3,4,5"


def test_a_cell_without_a_recipe_can_be_scored_alone(repro):
    facts = repro("show costa/1/sparse.best-trec-trad/dl19.ndcg10 --format json").json
    assert facts["standings"][0]["verdict"] == "not run"
    [command] = facts["commands"]
    assert command.startswith(
        "repro import run FILE costa/1/sparse.best-trec-trad/dl19.ndcg10 --source 'usnistgov"
    )
    assert "measure it" not in repro("show costa/1/sparse.best-trec-trad/dl19.ndcg10").out


def test_for_eyes_no_line_of_a_cell_is_wider_than_the_terminal(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for options in ((), ("--verbose",)):
        assert max(map(len, repro(f"show {COSTA}", *options).out.splitlines())) <= 80


def test_reports_of_a_cell_are_told_one_by_one_with_how_and_where(repro, toy, report):
    report("toy/1/bm25/dl", *(f"0.2{n}" for n in range(6)))
    said = repro("show toy/1/bm25/dl").out.splitlines()
    told = [line.split(":", 1) for line in said if line.startswith(("reported", "value"))]
    assert [name for name, _ in told] == ["reported elsewhere", *["value"] * 4, "values"]
    assert told[0][1].strip() == "6 values, 0.20 to 0.25, the closest in kind first"
    how = "released checkpoint encoded again; match exact; a/b, issue 1, 2024-01-01"
    assert told[1][1].strip() == f"0.23 A toolkit (toolkit): {how}"
    assert told[-1][1].strip() == "2 more with --verbose"
    verbose = repro("show toy/1/bm25/dl --verbose").out
    assert verbose.count("value: ") == 6 and "more with --verbose" not in verbose
