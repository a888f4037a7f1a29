from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)  # its scripts find each other so
    import report

    return report


def test_a_command_tells_no_place_of_the_machine(report):
    command = "python benchmarks/encode.py --data /some/where/data --beside ../before --sizes a=1/2"
    assert report.without_places(command) == command.replace("/some/where/data", "…/data")


def test_the_page_and_its_figures_are_what_the_records_give(report, tmp_path):
    (tmp_path / "records").symlink_to(FOLDER / "records")
    assert report.render(tmp_path / "RESULTS.md") == (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    drawn, kept = ({f.name: f.read_bytes() for f in (d / "figures").iterdir()} for d in (tmp_path, FOLDER))
    assert drawn == kept


def test_the_documentation_has_the_figures():
    linked = FOLDER.parent / "docs/reference/figures"
    assert {path.resolve() for path in linked.iterdir()} == set((FOLDER / "figures").iterdir())


def test_each_benchmark_has_a_record_or_says_why_not(report):
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+\.py)` (.*)$", listed, re.MULTILINE))
    measured = {report.script_of(r["command"]) for r in report.records()}
    assert measured <= set(rows)
    assert [name for name, row in rows.items() if name not in measured and "no record: " not in row] == []
    renewed = {f"{script}.py" for script, *_ in report.BENCHMARKS.values()}
    assert measured - renewed == {"gpu.py"} and renewed <= measured


def test_an_interrupted_renewal_stops_its_benchmark(report, tmp_path, monkeypatch):
    class Interrupted(subprocess.Popen):
        def wait(self, timeout=None):
            started.append(self)
            if timeout is not None:
                raise KeyboardInterrupt
            return super().wait()

    main, started = import_module("benchmarks.__main__"), []
    (tmp_path / "search.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(main, "HERE", tmp_path)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        main.renewed(["search"])
    assert started[0].returncode == -signal.SIGKILL


def test_every_benchmark_runs_at_its_smallest_size_and_writes_its_record(report, tmp_path):
    command = [sys.executable, "-m", "benchmarks", "--smallest", str(tmp_path)]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "records").iterdir()]
    asked = {f"python benchmarks/{script}.py {words}" for script, _, words in report.BENCHMARKS.values()}
    assert {r["command"] for r in records if r["rows"]} == asked


def test_records_name_files_of_their_own_and_tell_what_they_rest_on(report):
    for record in report.records():
        assert (FOLDER / "records" / f"{report.anchor(record['section'])[1]}.json").is_file()
        assert re.fullmatch(r"[0-9a-f]{7,}", record["commit"]) and record["hardware"]["cpu"]


def test_a_benchmark_of_objectives_writes_no_row_of_forms_that_differ(monkeypatch):
    import numpy as np

    monkeypatch.syspath_prepend(FOLDER)
    from benchmarks.objectives import CASES, row

    class Kept(dict):
        files = ("value", "of 0")

    name, cost = next(iter(CASES)), {"peak": 2e6, "seconds": 1.0, "inputs": 1e6, "kept": 1e6}
    expected = Kept({"value": np.float64(100.0), "of 0": np.array([1.0, -10.0])})
    near = Kept({"value": np.float64(100.0005), "of 0": np.array([1.00005, -10.0])})
    told = row(name, cost, near, cost, expected)
    assert (told["value differs by"], told["gradient differs by"]) == ("5e-06", "5e-06")
    for key, wrong in (("value", np.float64(100.002)), ("of 0", np.array([1.0002, -10])), ("value", np.nan)):
        with pytest.raises(SystemExit, match="the lean form differs from the naive one"):
            row(name, cost, Kept(near | {key: wrong}), cost, expected)
