"""A paper that was just scaffolded passes its own tests and those of every manifest, and its row runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory):
    """A distribution with a new paper, known to a Python that has it in its path."""
    place = tmp_path_factory.mktemp("distribution")
    command = [sys.executable, "-m", "repro", "new-paper", "fifth", "--dir", str(place)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed = place / "fifth-0.1.0.dist-info"  # what installing it would leave
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text("[repro.papers]\nfifth = fifth\n")
    return place


def _python(place, *arguments, **variables):
    path = os.pathsep.join([str(place), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **variables}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)


def test_its_tests_pass(scaffolded):
    where = ("--rootdir", scaffolded, "-c", scaffolded / "pyproject.toml")
    done = _python(scaffolded, "-m", "pytest", "-q", *where, scaffolded / "tests")
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_what_holds_for_every_manifest_holds_for_it(scaffolded):
    every = REPOSITORY / "tests/papers/test_every_manifest.py"
    done = _python(scaffolded, "-m", "pytest", "-q", every, "-k", "fifth")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "failed" not in done.stdout


def test_its_row_runs_at_tiny_scale_and_its_claims_and_coverage_are_told(scaffolded, table, tmp_path):
    shutil.copytree(table.store, tmp_path / "s")  # the backbone is there already
    places = {"REPRO_STORE": str(tmp_path / "s"), "REPRO_RESULTS": str(tmp_path / "r")}
    row = ("fifth", "--table", "1", "--row", "fifth", "--scale", "tiny", "--json")
    done = _python(scaffolded, "-m", "repro", "run", *row, **places)
    assert done.returncode == 0, done.stderr
    measured = {cell["id"]: cell["measured"] for cell in json.loads(done.stdout)}
    assert set(measured) == {"fifth/1/fifth/dev.rr10", "fifth/1/fifth/dev.r1000"}
    assert measured["fifth/1/fifth/dev.r1000"] > 0.2  # depth 100 of 900 passages: 0.11 at random
    for verb in (("claims", "fifth", "--scale", "tiny"), ("coverage", "fifth"), ("readings", "fifth")):
        said = _python(scaffolded, "-m", "repro", *verb, **places)
        assert said.returncode == 0 and said.stdout, (verb, said.stderr)
