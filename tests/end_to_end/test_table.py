"""A table of a paper measured, compared and printed again, from an empty store, without network."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from repro.manifest.cells import select
from repro.retrieval.evaluation.paired import pairwise_tests
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store, read_json

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
    """Of each dev question, by row."""
    store = Store(table.store)
    cells = select(("costa",), tables=("1",), rows=("sparse.bm25", *TRAINED, *REFERENCES), cells=())
    dev = [cell for cell in cells if cell.column.id == "dev.rr10"]
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


def test_the_second_time_nothing_runs_and_nothing_changes(table, command_line):
    again = command_line(
        "run", *table.selection, "--format", "json", store=table.store, results=table.results
    )
    assert again.returncode == 0
    assert again.stdout == table.stdout
    assert "0 run now" in again.stderr


def test_compare_says_the_same_without_running_anything(table, command_line):
    said = command_line(
        "compare", *table.selection, "--format", "json", store=table.store, results=table.results
    )
    assert said.stdout == table.stdout


def test_records_alone_are_enough_to_judge_but_not_to_test_rows(table, command_line, tmp_path):
    places = {"store": tmp_path / "empty", "results": table.results}
    judged = json.loads(command_line("compare", *table.selection, "--format", "json", **places).stdout)
    assert judged == [{**cell, "tests": []} for cell in table.cells]
    assert any(cell["tests"] for cell in table.cells)
    assert "no tests between rows: too few of " in command_line("compare", *table.selection, **places).stderr


def test_tests_between_rows_are_shown_with_the_table(table, command_line):
    shown = command_line("compare", *table.selection, store=table.store, results=table.results)
    assert "ranx's two-sided paired t-test" in shown.stderr
    assert "not compared with the published numbers" in shown.stderr


def test_latex_of_what_was_measured_compiles(table, command_line, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip(
            "no pdflatex on this machine: apt-get install texlive-latex-base texlive-latex-recommended"
        )
    wanted = ("tables", *table.selection, "--document", str(tmp_path / "t.tex"))
    made = command_line(*wanted, store=table.store, results=table.results)
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-1500:]


def test_a_truncated_artefact_is_named_and_rebuilt_on_request(table, command_line, tmp_path):
    store = tmp_path / "s"
    shutil.copytree(table.store, store)
    row = ("plan", "costa/1/sparse.bm25/dev.rr10", "--scale", "tiny", "--format", "json")
    nodes = json.loads(command_line(*row, store=store, results=table.results).stdout)
    [run] = [node["fingerprint"] for node in nodes if node["stage"] == "bm25"]  # not one that is only mined
    victim = store / "bm25" / run / "run.trec"
    victim.write_text(victim.read_text()[:1000])
    wanted = (*table.selection, "--format", "json")
    assert "damaged: bm25/" in command_line("store", "verify", store=store, results=table.results).stdout
    shutil.rmtree(store / "evaluate")  # else nothing would need the damaged run
    refused = command_line("run", *wanted, store=store, results=table.results)
    assert refused.returncode == 2
    assert "run.trec has" in refused.stderr and "--rebuild" in refused.stderr
    assert "Traceback" not in refused.stderr
    mended = command_line("run", *wanted, "--rebuild", "damaged", store=store, results=table.results)
    assert mended.returncode == 0, mended.stderr
    assert command_line("store", "verify", store=store, results=table.results).returncode == 0
