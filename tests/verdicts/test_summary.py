"""Counts of measured cells and of runs by others."""

import html
import re
from dataclasses import replace

import pytest

from repro.api import select
from repro.manifest.cells import cell, cells_of
from repro.manifest.papers import papers
from repro.running.scale import known_scales
from repro.store.results import Record, Results
from repro.verdicts.compared import ComparedCell, ImportedRun
from repro.verdicts.summary import conditions, cut_measures, scale_notes, stand_ins, summarise, why_cut
from repro.verdicts.verdict import Verdict
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

BEIR = "cotmae_v2/3/bm25/"


def _record(identifier, fingerprint, **changes):
    return Record(identifier, "full", 32.5, None, fingerprint, 50, 0, "nDCG@10", "percent", **changes)


def _compared(column, fingerprint, verdict="exact", **changes):
    records = (_record(BEIR + column, fingerprint, deviation=10.0),) if fingerprint else ()
    return ComparedCell(cell(BEIR + column), "full", records, Verdict(verdict, "", difference=0.0), **changes)


def test_cells_that_share_an_evaluation_and_a_measure_are_one_measurement():
    counted = summarise([_compared("nfcorpus", "a"), _compared("scifact", "a"), _compared("nq", "b")])
    assert (counted.measured, counted.measurements, counted.passing) == (3, 2, 3)


def test_an_average_is_no_measurement_beside_those_that_it_averages():
    average = _compared("average", "of many")
    assert summarise([_compared("nfcorpus", "a"), average]).measurements == 1
    assert summarise([average]).measurements == 1


def test_what_others_ran_counts_by_itself():
    run = ImportedRun(_record(BEIR + "nq", "theirs", origin={"file": "a"}), Verdict("lower", "why"))
    others = [_compared(c, "", "blocked", imported=(run,)) for c in ("nq", "scifact")]
    counted = summarise([_compared("nfcorpus", "a"), *others])
    assert (counted.measured, counted.measurements, counted.passing, counted.failing) == (1, 1, 1, 0)
    assert (counted.imported, counted.imported_runs, counted.only_imported) == (2, 1, 2)
    assert (counted.inside, counted.intervals) == (1, 1)


def test_stand_ins_are_named_beside_what_they_replace():
    at_tiny = {"scale": "tiny", "collections": ("tiny/zeroshot",)}
    tiny = [replace(_compared(c, "a"), **at_tiny) for c in ("nfcorpus", "scifact")]
    assert stand_ins(tiny[:1]) == "tiny/zeroshot replaces beir/nfcorpus/test"
    assert stand_ins(tiny) == "tiny/zeroshot replaces 2 collections"
    assert stand_ins([_compared("nfcorpus", "a", collections=("beir/nfcorpus/test",))]) == ""


def test_a_measure_that_looks_deeper_than_the_scale_searches_is_told():
    column, deep = (_compared("nfcorpus", "a"), "nDCG@10: computed on the top 5 (the run contains no more)")
    assert cut_measures([column]) == conditions([column]) == ""
    assert cut_measures([replace(column, cut_at=5), _compared("scifact", "", cut_at=5)]) == deep
    at_tiny = [replace(column, scale="tiny", cut_at=depth) for depth in (100, 50)]
    assert [why_cut(c) for c in at_tiny] == ["this scale retrieves no more", "the run contains no more"]
    assert cut_measures([_compared("scifact", "", cut_at=5)]) == ""
    other = _compared("scifact", "b")
    other = replace(other, cell=replace(other.cell, row=other.cell.row.model_copy(update={"id": "other"})))
    of_row = f"the run of {column.cell.row.label} contains"
    assert cut_measures([replace(column, cut_at=5), other]) == deep.replace("the run contains", of_row)
    tiny = replace(column, cut_at=100, scale="tiny", collections=("tiny/zeroshot",))
    deep = deep.replace("the run contains", "this scale retrieves").replace("top 5 ", "top 100 ")
    assert conditions([tiny]) == f"substitute data: tiny/zeroshot replaces beir/nfcorpus/test; {deep}"


MEASURED = (
    "costa/1/sparse.bm25/dev.rr10",
    "costa/1/reference.untrained/dev.rr10",
    "costa/figure-4/costa.500/dev.rr10",
)
COSTA = "1 of 157 published cells measured at full, and 1 of 36 points of figures"
REFERENCE = "1 of 8 cells of reference rows"
STUDY = "1 of 740 cells of the suite's own study"
EVERY = sum(c.counted_as == "published" for source in papers().values() for c in cells_of(source))
SELECTIONS = {
    "costa/1": f"1 of 58 published cells measured at full, and {REFERENCE}",
    "costa": f"{COSTA}, {REFERENCE}",
    "": f"1 of {EVERY} published cells measured at full, and 1 of 70 points of figures, {REFERENCE}, {STUDY}",
}


@pytest.fixture(scope="module")
def records():
    """Those of a measured cell of each kind, and some that are no measurement of the cell."""
    measurements = {m.cell.id: m for m in select("costa", "head_to_head").plan().measurements}
    study = next(name for name in measurements if name.startswith("head_to_head/1/"))
    of_cells = [_record_of(measurements[name]) for name in (*MEASURED, study)]
    other = _record_of(measurements["costa/1/bm25neg.bert/dev.rr10"])
    others = [replace(other, readings={"seed": "two"}), replace(other, unit="GB")]
    others.append(replace(other, origin={"file": "a.trec", "sha256": "0" * 64}))
    return [*of_cells, *others]


def _record_of(m):
    facts = ("full", 0.5, m.seed, m.fingerprint, 50, 0, m.measure, m.cell.unit)
    return Record(m.cell.id, *facts, recorded="2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize(("selection", "sentence"), SELECTIONS.items())
def test_every_outlet_counts_the_same(repro, folders, records, selection, sentence):
    Results(folders / "results").append(records)
    paper, _, table = selection.partition("/")
    names = ("costa",) if paper else ()
    tables = ("--table", table) if table else ()

    def said(*words) -> str:
        answer = repro(*words)
        return _words(f"{answer.out} {answer.err}")

    first_line = said("compare", *names, *tables).partition("Measured ")[2].partition(". ")[0]
    counts = re.findall(r"\d+ of \d+", sentence)
    assert re.findall(r"\d+ of \d+", first_line)[: len(counts)] == counts
    cells = re.sub(r"\d+ of (?=\d)| measured at full", "", sentence)
    assert f"{cells}: " in said("plan", *(names or ("--all",)), *tables)
    if table:
        return
    assert sentence in said("show", "coverage", *names)
    assert cells in said("show")
    if not paper:
        return
    page = folders / "index.md"
    page.write_text("<!-- verdicts:begin -->\n<!-- verdicts:end -->\n")
    repro("report", *names, "--readme", page)
    repro("report", *names, "-o", folders / "report.html")
    repro("report", "site", *names, "-o", folders / "pages")
    outlets = (
        repro("report", "--format", "markdown", *names).out,
        page.read_text(encoding="utf-8"),
        (folders / "pages/index.md").read_text(encoding="utf-8"),
        html.unescape((folders / "report.html").read_text(encoding="utf-8")),
    )
    for number, text in enumerate(outlets):
        assert sentence in _words(text), number


def _words(text: str) -> str:
    return " ".join(text.split())


def test_a_note_on_a_rows_numbers_at_a_scale_is_shown_where_they_are():
    distilled = cell("retromae/5/retromae/dev.rr10")
    shown = replace(_compared("nfcorpus", "a"), cell=distilled, scale="tiny")
    assert scale_notes([shown, shown]).startswith("RetroMAE: the teacher has learned nothing")
    assert "the teacher has learned nothing" in conditions([shown])
    assert scale_notes([replace(shown, scale="full"), replace(shown, records=())]) == ""
    tables = [table for source in papers().values() for table in source.manifest.tables]
    scales = {scale for table in tables for row in table.rows for scale in row.scale_notes}
    assert scales <= known_scales().keys()
