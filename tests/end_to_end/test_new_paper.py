"""A scaffolded paper works everywhere, and nothing outside its folder changes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCALE = "tiny" if os.environ.get("REPRO_SLOW_TESTS") == "1" else "smoke"  # learning shows every night


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory):
    place = tmp_path_factory.mktemp("distribution")
    command = [sys.executable, "-m", "repro", "new", "paper", "fifth", "--dir", str(place)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed = place / "fifth-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text("[repro.papers]\nfifth = fifth\n")
    return place


def _environment(place, **variables):
    path = os.pathsep.join([str(place), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **variables}


def _python(place, *arguments):
    command = [sys.executable, *map(str, arguments)]
    how = {"cwd": REPOSITORY, "env": _environment(place), "capture_output": True, "text": True}
    return subprocess.run(command, **how)


@pytest.mark.nightly
def test_its_tests_pass(scaffolded):
    where = ("--rootdir", scaffolded, "-c", scaffolded / "pyproject.toml")
    done = _python(scaffolded, "-m", "pytest", "-q", *where, scaffolded / "tests")
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_what_holds_for_every_paper_holds_for_it(scaffolded):
    every = [
        REPOSITORY / f"tests/papers/test_{name}.py" for name in ("every_manifest", "every_recipe", "claims")
    ]
    done = _python(scaffolded, "-m", "pytest", "-q", *every, "-k", "fifth")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "failed" not in done.stdout


SERVED = """
import json, sys
from tests.end_to_end.commands import repro
for line in sys.stdin:
    said = repro(*json.loads(line))
    print(json.dumps([said.status, said.out, said.err]), flush=True)
"""


@pytest.fixture(scope="module")
def measured(scaffolded, table, tmp_path_factory):
    """A verb on the paper whose row was run; one process answers for all verbs."""
    root = tmp_path_factory.mktemp("measured")
    shutil.copytree(table.store, root / "s")
    places = {"REPRO_STORE": str(root / "s"), "REPRO_RESULTS": str(root / "r")}
    how = {"cwd": REPOSITORY, "env": _environment(scaffolded, **places), "text": True}
    child = subprocess.Popen(
        [sys.executable, "-c", SERVED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how
    )

    def call(*verb):
        child.stdin.write(json.dumps([str(word) for word in verb]) + "\n")
        child.stdin.flush()
        status, out, err = json.loads(child.stdout.readline())
        assert status in (0, 4) and out, (verb, err)  # 4: at full scale data is missing
        return json.loads(out) if "json" in verb else out

    row = ("fifth", "--table", "1", "--row", "fifth", "--scale", SCALE)
    run = ("run", *row, "--engine", "inline", "--format", "json")
    call.cells = {c["id"]: c["measured"] for c in call(*run)}
    yield call
    child.stdin.close()
    assert child.wait() == 0


def test_its_row_runs(measured):
    assert set(measured.cells) == {"fifth/1/fifth/dev.rr10", "fifth/1/fifth/dev.r1000"}
    least = 0.2 if SCALE == "tiny" else 0.0  # depth 100 of 900 passages: 0.11 at random
    assert measured.cells["fifth/1/fifth/dev.r1000"] > least


def test_its_claims_and_marks_are_judged_in_print_and_in_ours(measured):
    [claim] = [
        s
        for s in measured("audit", "claims", "fifth", "--scale", SCALE, "--format", "json")
        if s["kind"] == "claim"
    ]
    states = claim["published"]["state"], claim["ours"]["state"]
    assert states == ("holds", "untested")


def test_its_cells_are_covered_and_measured(measured):
    [covered] = measured("show", "coverage", "fifth", "--format", "json")
    assert covered["cells"] == 4 and covered["measured"] == {SCALE: 2}
    assert covered["ways"]["recipe"] == covered["ways"]["not measurable"] == 2


def test_its_reading_is_listed_with_the_row_that_asks_for_it(measured):
    [reading] = measured("show", "readings", "fifth", "--format", "json")
    assert (reading["id"], reading["affects"]) == ("temperature", ["fifth/1/fifth"])
    assert measured("show", "fifth/1/fifth/dev.rr10", "--format", "json")["readings"] == ["temperature"]


def test_its_own_cost_stands_beside_the_estimate_and_its_scale_is_kept(measured):
    assert "8 V100, 24 h = 192 GPU hours" in measured("plan", "fifth")
    nodes = measured("plan", "fifth", "--scale", SCALE, "--format", "json")
    steps = {
        n["params"]["objective"]["name"]: n["params"]["max_steps"] for n in nodes if n["stage"] == "pretrain"
    }
    assert steps["fifth-halves"] == {"tiny": 40, "smoke": 2}[SCALE]


def test_the_audit_knows_its_configurations_and_what_explains_a_difference(scaffolded, measured):
    def audited():
        found = measured("audit", "fifth", "--format", "json")
        return [f for f in found if f["against"] != "another paper"]

    assert audited() == []
    cells, notes = scaffolded / "fifth/cells.yaml", scaffolded / "fifth/audit.yaml"
    whole = cells.read_text(), notes.read_text()
    second = whole[0].partition("tables:\n")[2].replace('id: "1"', 'id: "2"').replace("0.330", "0.331")
    cells.write_text(whole[0] + second)
    notes.write_text(
        'configurations: {one: ["fifth/1/fifth", "fifth/2/fifth"]}\n'
        'explanations: [{at: ["fifth/2/fifth"], why: another seed}]\n'
    )
    try:
        [finding] = audited()
    finally:
        cells.write_text(whole[0]), notes.write_text(whole[1])
    assert (finding["kind"], finding["values"]) == ("values", ["0.330", "0.331"])
    assert finding["explanation"] == "another seed"


def test_it_has_a_part_of_the_report_and_a_table_in_latex(measured, tmp_path):
    measured("report", "fifth", "--scale", SCALE, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert 'id="fifth/1"' in page and "1 that affect this cell" in page
    assert "fifth" in measured("tables", "fifth", "--table", "1", "--scale", SCALE)


def test_nothing_outside_its_folder_was_touched(scaffolded, measured):
    written = {
        p.relative_to(scaffolded).parts[0] for p in scaffolded.rglob("*") if "__pycache__" not in p.parts
    }
    assert written <= {"fifth", "tests", "pyproject.toml", "fifth-0.1.0.dist-info", ".pytest_cache"}
    assert not [*(REPOSITORY / "papers").rglob("*fifth*"), *(REPOSITORY / "tests/papers").rglob("*fifth*")]
