"""Verbs without the packages of extras work, or name the extra in one sentence."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from repro.cli import cli
from repro.machine import IMPORTED_AS, PACKAGES
from repro.store.results import Results, line_of

# Runs commands in one process in which the packages named by the first argument cannot be found.
WITHOUT = """
import contextlib, io, json, sys
blocked, commands = map(json.loads, sys.argv[1:])

class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in blocked else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
from repro.cli import main
outcomes = []
for command in commands:
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["repro", *command.split()]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            status = left.code
        except BaseException as error:
            status = f"{type(error).__name__}: {error}"
    outcomes.append([command, status, out.getvalue(), err.getvalue()])
print(json.dumps(outcomes))
"""
RESULTS = Path(__file__).resolve().parents[2] / "results"
CELL = "costa/1/sparse.bm25/dev.rr10"
TRAINED = "costa/1/bm25neg.bert/dev.rr10"
SCORED = "compare a.run --qrels q.qrels --measure nDCG@10"
DONE = f"""\
show, show costa, show costa --table 1, show {CELL}, show cells costa, show readings costa
new exercise, show coverage costa, show others costa, show settings costa, compare costa --table 1
tables costa --table 1 --out tables, audit costa, audit claims costa, audit file t.csv
data list, import records jane.jsonl, doctor, new paper tried --from t.csv --dir papers
store gc, store verify, report cpdae -o report.html, report site cpdae --out site, new site queue\
""".replace("\n", ", ").split(", ")
NOT_DONE = f"""\
plan costa --table 1 --scale tiny, run {CELL} --scale tiny, run {TRAINED} --scale tiny, demo
report figures costa --table figure-4, data check tiny/passage, data fetch beir/scifact --yes
data make lists/stopwords.txt a.txt b.txt, export run {CELL}, export encoder {TRAINED} -o encoder
import run a.run {CELL}, doctor smoke, doctor calibrate, doctor same-code --check
compare encoder costa --table 1, {SCORED}, stage x, export records costa --by Jane -o mine.jsonl\
""".replace("\n", ", ").split(", ")  # status 4 with one sentence on the extra, or 2


@pytest.fixture
def outcomes(tmp_path, monkeypatch):
    for name in ("REPRO_STORE", "REPRO_RESULTS", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "t.csv").write_text("system,MS MARCO RR@10\nx,0.31\ny,0.32\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 2.0 mine\n1 Q0 d2 2 1.0 mine\n")
    (tmp_path / "q.qrels").write_text("1 0 d1 1\n")
    record = next(r for r in Results(RESULTS).read("tiny", "costa") if r.cell == CELL)
    (tmp_path / "jane.jsonl").write_bytes(line_of(replace(record, origin={"by": "Jane"})))
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder/config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "encoder/model.safetensors").write_text("")

    def call(extras: tuple[str, ...], commands: list[str]):
        blocked = [IMPORTED_AS.get(name, name) for extra in extras for name in PACKAGES[extra]]
        words = [sys.executable, "-c", WITHOUT, json.dumps(blocked), json.dumps(commands)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return {command: rest for command, *rest in json.loads(done.stdout.splitlines()[-1])}

    return call


def views(group: click.Group, *names: str):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from (
            views(command, *names, name) if isinstance(command, click.Group) else [" ".join([*names, name])]
        )


def test_every_view_is_called():
    called = [*DONE, *NOT_DONE]
    named = {"audit papers": "audit costa"}
    assert not [view for view in views(cli) if not any(c.startswith(named.get(view, view)) for c in called)]


@pytest.mark.parametrize(
    ("extras", "done"), [(("score", "train", "bm25"), DONE), (("train", "bm25"), [])], ids=["base", "score"]
)
def test_a_verb_works_or_names_the_extra_that_it_needs(extras, done, outcomes):
    made = outcomes(extras, [*done, *NOT_DONE])
    assert {status for status, _, _ in made.values()} <= {0, 2, 4}, made
    assert {c: made[c] for c in done if made[c][0]} == {}
    for status, out, err in made.values():
        assert "Traceback" not in err
        assert status != 4 or "repro-bench[" in out + err or "run `repro data fetch" in err, err
    status, _, err = made[SCORED]
    needs = "this use of `repro compare` needs `pip install 'repro-bench[score]'` (numpy is not installed)"
    assert (status, err) == (4, f"repro: {needs}\n") if "score" in extras else status == 0, err
