"""What the project shows of its own results is what results/ holds."""

import statistics
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.cli.verbs.import_ import HEAD, _rows
from repro.manifest.cells import select
from repro.manifest.papers import papers
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.comparison import compare, judged_cells
from repro.verdicts.coverage import coverage
from repro.writers.markdown import between, escaped, table, verdicts
from tests.ci_commands import module
from tests.floats import close

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Results(ROOT / "results")
FIRST_TABLE, STATE = module(ROOT / "docs/first_table.py"), module(ROOT / "docs/state.py")


@cache
def _plan(name):
    every = select((), tables=(), rows=(), cells=())
    return plan(every, scale=scale(name), machine=Machine())


@cache
def _compared(name):
    made = _plan(name)
    made.look(Store(Path("no-store")))
    return compare(made, RESULTS).cells


def test_the_tables_of_the_documentation_are_generated_from_the_records(tmp_path):
    covered = {name: coverage(source, RESULTS) for name, source in papers().items()}
    found = verdicts(judged_cells(_plan("full"), RESULTS, Store(tmp_path)), covered)
    page = ROOT / "docs/papers/index.md"
    text = page.read_text(encoding="utf-8")
    assert between(page, text, found) == text, "repro report --readme docs/papers/index.md"


def test_the_picture_and_the_state_on_the_first_page_follow_from_the_records():
    found, text = STATE.counts(), STATE.PAGE.read_text(encoding="utf-8")
    assert STATE.page(text, STATE.sentence(found)) == text, STATE.__doc__
    assert STATE.picture(found) == STATE.PICTURE.read_text(encoding="utf-8"), STATE.__doc__
    assert "](report.svg)" in text and "](docs/report.svg)" in (ROOT / "README.md").read_text("utf-8")


def test_the_first_table_of_the_tutorial_follows_from_the_records():
    path = FIRST_TABLE.PAGE
    assert FIRST_TABLE.page(path, FIRST_TABLE.block()) == path.read_text(encoding="utf-8"), (
        FIRST_TABLE.__doc__
    )


@pytest.mark.parametrize("name", ["tiny", "full"])
def test_what_is_compared_is_the_mean_of_the_records(name):
    cells = _compared(name)
    shown = {c.cell.id: c for c in cells if c.measured is not None}
    assert len(shown) > 1 and sum(bool(c.records or c.imported) for c in cells) > 10
    records = {r.cell: {} for paper in papers() for r in RESULTS.read(name, paper)}
    for paper in papers():
        for record in RESULTS.read(name, paper):
            records[record.cell][record.fingerprint] = record.measured
    for identifier, compared in shown.items():
        values = [records[identifier][r.fingerprint] for r in compared.records]
        close(compared.measured, statistics.fmean(values))


def _git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "results/records").glob("*/*.jsonl")), ids=lambda p: p.parent.name
)
def test_what_is_shown_was_measured_at_a_commit_of_the_history(path):
    if _git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("there is no whole history to look in")
    newest = {}
    for record in RESULTS.read(path.parent.name, path.stem):
        newest[record.cell, record.seed, record.measure, record.origin.get("sha256")] = record
    digits = {(r.environment.get("commit") or "none").partition("-")[0] for r in newest.values()}
    assert not [
        commit for commit in sorted(digits) if _git("merge-base", "--is-ancestor", commit, "HEAD").returncode
    ]


def test_the_page_of_public_runs_has_every_recorded_run():
    path = ROOT / "results/tables/full/public-runs.md"
    cells = _compared("full")
    runs = [
        SimpleNamespace(cell=c.cell, record=r.record, verdict=r.verdict) for c in cells for r in c.imported
    ]
    lines = table(HEAD, [[cell, *map(escaped, others)] for cell, *others in _rows(runs)])
    page = path.read_text(encoding="utf-8").splitlines()
    assert len(runs) > 30
    # the runs of a cell are listed in the order of public_runs.yaml, and recorded in that of their import
    assert sorted(line for line in page if line.startswith("| ")) == sorted(line for line in lines if line)
    files = {run.record.origin["file"] for run in runs}
    assert {line.split()[1] for line in page if line.startswith("* ")} == files
