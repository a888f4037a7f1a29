"""What a wheel holds, by the build backend's own list of files."""

import tomllib
from pathlib import Path

import pytest

from repro import locations
from repro.locations import Locations
from repro.manifest.papers import papers

ROOT = Path(__file__).resolve().parents[1]
hatchling = pytest.importorskip("hatchling.builders.wheel", reason="the extra `dev` has hatchling")


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    """Place in a wheel -> file of the checkout."""
    builder = hatchling.WheelBuilder(str(ROOT))
    return {f.distribution_path: Path(f.path) for f in builder.recurse_included_files()}


def test_a_wheel_installs_one_package(files):
    assert {place.split("/")[0] for place in files} == {"repro"}
    assert "repro/py.typed" in files


def test_the_papers_are_in_it_and_found_there(files):
    assert all(f"repro/bundled/papers/{name}/cells.yaml" in files for name in papers())
    assert locations.BUNDLED == ROOT / "repro/bundled" and locations.PAPERS == ROOT / "papers"


def test_the_numbers_of_comparisons_with_released_code_are_in_it(files):
    paths = list((ROOT / "papers").glob("*/oracles/*.json"))
    assert paths and all(files[f"repro/bundled/{path.relative_to(ROOT)}"] == path for path in paths)


def test_the_records_of_the_release_are_in_it(files):
    for path in (ROOT / "results/records").glob("*/*.jsonl"):
        assert files[f"repro/bundled/{path.relative_to(ROOT)}"] == path


def test_an_installed_suite_reads_the_records_of_its_release_unless_others_are_named(monkeypatch, tmp_path):
    (tmp_path / "bundled/results").mkdir(parents=True)
    monkeypatch.setattr(locations, "BUNDLED", tmp_path / "bundled")
    monkeypatch.setattr(locations, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    places = Locations.resolve()
    assert places.release == tmp_path / "bundled/results"
    assert places.results.is_relative_to(tmp_path / "user")
    assert Locations.resolve(results=str(tmp_path)).release is None
    (tmp_path / "bundled/results").rmdir()
    assert Locations.resolve().release is None


def test_the_version_is_said_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version", "urls"]
