"""A table of a paper measured, compared and printed again, from an empty store, without network."""

import shutil
import subprocess

import numpy as np
import pytest

from repro.manifest.cells import select
from repro.retrieval.evaluation.significance import pairwise_tests
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.seal import read_json

KEYS = {"id", "printed", "measured", "verdict", "scale", "seeds", "fingerprint"}


def test_every_cell_has_a_record_and_rows_without_a_recipe_no_number(table):
    assert len(table.cells) == 7 * 4 + 3
    for cell in table.cells:
        assert set(cell) >= KEYS
        ran = cell["id"].split("/")[2].split(".")[-1] not in ("deepct",)
        assert cell["verdict"] == ("scaled" if ran else "not run"), cell
        assert (cell["measured"] is not None) is ran


REFERENCES = ("reference.untrained", "reference.no-pre-training")
TRAINED = ("bm25neg.bert", "bm25neg.costa", "hardneg.bert", "hardneg.costa")


@pytest.fixture(scope="module")
def reciprocal_ranks(table):
    store = Store(table.store)
    cells = select(("costa",), tables=("1",), rows=("sparse.bm25", *TRAINED, *REFERENCES), cells=())
    dev = [c for c in cells if c.column.id == "dev.rr10"]
    planned = plan(dev, scale=scale("tiny"), machine=Machine())
    nodes = {m.cell.row.id: m.parts[0] for m in planned.measurements}
    return {name: read_json(store.path(n) / "scores.json")["measures"]["RR@10"] for name, n in nodes.items()}


def against(scores, row, reference):
    """The difference of two rows' means, and its two-sided permutation p."""
    made = pairwise_tests(np.array([scores[row], scores[reference]]), list(map(str, range(150))), "RR@10")
    return made["difference"][0][1], made["permutation_p"][0][1]


@pytest.mark.parametrize("row", TRAINED)
def test_a_trained_row_is_above_the_untrained_model_and_in_the_range_of_bm25(reciprocal_ranks, row):
    difference, p = against(reciprocal_ranks, row, "reference.untrained")
    assert difference > 0 and p < 0.001
    assert np.mean(reciprocal_ranks[row]) > 0.5 * np.mean(reciprocal_ranks["sparse.bm25"])


def test_the_backbone_is_a_better_start_than_random_weights_as_bert_is(reciprocal_ranks):
    difference, p = against(reciprocal_ranks, "bm25neg.bert", "reference.no-pre-training")
    assert difference > 0 and p < 0.05


def test_pre_training_changes_what_a_row_measures(reciprocal_ranks):
    assert len({tuple(reciprocal_ranks[row]) for row in TRAINED}) == len(TRAINED)


def test_the_second_time_nothing_runs_and_nothing_changes(table, told):
    again = told("run", *table.selection, "--format", "json", store=table.store, results=table.results)
    assert (again.status, again.out) == (0, table.stdout) and "Ran 0 of " in again.err


def test_compare_says_the_same_without_running_anything(table, told):
    said = told("compare", *table.selection, "--format", "json", store=table.store, results=table.results)
    assert said.out == table.stdout


def test_records_alone_are_enough_to_judge_but_not_to_test_rows(table, told, tmp_path):
    places = {"store": tmp_path / "empty", "results": table.results}
    judged = told("compare", *table.selection, "--format", "json", **places).json
    assert judged == [{**c, "tests": []} for c in table.cells]
    assert any(c["tests"] for c in table.cells)
    assert "no tests between rows: fewer than two " in told("compare", *table.selection, **places).err


def test_tests_between_rows_are_shown_with_the_table(table, told):
    shown = told("compare", *table.selection, store=table.store, results=table.results)
    assert "paired two-sided t-test over queries by ranx" in shown.err
    assert "not compared with the paper's" in shown.err


def test_latex_of_what_was_measured_compiles(table, told, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip(
            "no pdflatex on this machine: apt-get install texlive-latex-base texlive-latex-recommended"
        )
    wanted = ("tables", *table.selection, "--document", str(tmp_path / "t.tex"))
    made = told(*wanted, store=table.store, results=table.results)
    assert made.status == 0, made.err
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-1500:]
