from pathlib import Path

import pytest

from repro.api import select
from repro.cli.plan_summary import blocked_cell_lines
from repro.verdicts.comparison import compare
from tests.cli.conftest import CELL

LACKING_A_GPU = ("costa", "--table", "1")


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: None)


def test_a_table_that_cannot_be_trained_here_is_answered_in_few_lines(repro, folders):
    said = repro("run", *LACKING_A_GPU)
    assert said.status == 4
    lines = said.out.splitlines()
    assert len(lines) < 60 and lines[0] == "Nothing of costa/1 can be trained on this machine."
    assert lines[1].startswith("Blocked: 55 published cells")
    assert not any("published" in line for line in lines[2:])
    took = {line.split()[0]: line for line in lines[5:] if line[:1].strip()}
    assert "needs a GPU" in took["machine"] and "GPU hours (h100, recorded shares" in took["work"]
    assert "6 collections (14.61 GB), 2 checkpoints" in said.out
    assert "GB of artefacts" in took["disk"]
    out = said.out
    place = folders / "user/repro-bench/collections"
    consent = f"downloads the data into {place}, with your consent"
    assert f"\nrepro data fetch --for costa/1  {consent}\n" in out
    assert "\nrepro run costa --table 1 --scale tiny  " in out
    assert "\nrepro plan costa --table 1  " in out


def test_the_commands_that_help_are_those_of_the_selection(repro):
    out = repro(f"run {CELL} --reading bm25-parameters=anserini-default").out
    assert f"repro run {CELL} --reading bm25-parameters=anserini-default --scale tiny" in out
    assert "Nothing of costa/1/sparse.bm25 can be measured" in out


def test_a_row_is_told_everything_that_it_lacks(repro):
    out = " ".join(repro("run", *LACKING_A_GPU).out.split())
    assert " every row msmarco-passage (dev/small, trec-dl-2019/judged) " in out
    missing = "a GPU, bert-base-uncased, msmarco-passage (train/triples-v2, train/judged, rocketqa)"
    assert f" bm25neg.bert, hardneg.bert, reference.no-pre-training {missing} " in out


def test_at_another_scale_no_rehearsal_is_advised(repro):
    out = repro("run costa --table 4 --scale small").out
    assert "--scale tiny" not in out and "to find  text/wikipedia-sample: take it from" in out


def test_programs_get_every_cell_as_before(repro):
    cells = repro("run", *LACKING_A_GPU, "--format", "json").json
    assert len(cells) == 66 and all(len(c["blocked"]) > 1 for c in cells if c["verdict"] == "blocked")


def test_beside_what_ran_rows_are_told_everything_that_they_lack_and_the_one_command(folders):
    chosen = select("costa/1")
    plan = chosen.plan()
    plan.look(chosen.workspace.store)
    lines = blocked_cell_lines(compare(plan, chosen.workspace.results))
    assert any(line.startswith("blocked: costa/1/bm25neg.bert, costa/1/hardneg.bert, ") for line in lines)
    assert lines[-1].startswith("`repro data fetch --for costa/1` downloads 6 collections")


def test_what_is_not_trained_is_said_to_be_measured(repro, toy):
    out = repro("run toy").out
    assert out.startswith(
        "Nothing of toy/1/bm25 can be measured on this machine.\nBlocked: 2 published cells"
    )


def test_on_eighty_columns_no_line_is_longer_and_no_word_torn(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.home() / ".local/share"))
    lines = repro("run", *LACKING_A_GPU).out.splitlines()
    commands = [line for line in lines if line.startswith("repro ")]
    assert max(len(line) for line in lines) <= 80 and len(commands) == 3
    assert any(line.startswith("bm25neg.seed, hardneg.seed  ") for line in lines)
    assert any("~/.local/share/repro-bench/collections" in line for line in lines)
