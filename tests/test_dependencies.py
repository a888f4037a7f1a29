"""The program imports nothing that only its tests install: CI has both before it runs any command."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COME_WITH_OTHERS = {
    "huggingface_hub",
    "jnius",
    "jnius_config",
    "pyarrow",
    "pydantic_core",
}  # of what is declared
OPTIONAL = {"nltk", "pypandoc", "typst"}  # the extras `sentences` and `article`


def declared() -> set[str]:
    """Names of distributions in ``[project] dependencies``, written as package indexes do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in project["dependencies"]}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(path: Path) -> set[str]:
    """Packages that a file imports, at its top or in a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names


# packages that fetch or draw
IMPORTED_WHEN_NEEDED = {"beir", "huggingface_hub", "matplotlib", "sklearn"}


def test_what_only_tests_need_is_no_dependency():
    assert not declared() & {"pytest", "hypothesis", "pytest-xdist", "tox", "radon", "ruff", "build", "mypy"}


@pytest.mark.parametrize("folder", ["repro", "papers"])
def test_what_fetches_or_draws_is_imported_when_it_does(folder):
    for path in (ROOT / folder).rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {a.name if isinstance(n, ast.Import) else n.module for n in top for a in n.names}
        assert not {name.split(".")[0] for name in names if name} & IMPORTED_WHEN_NEEDED, path


@pytest.mark.parametrize("folder", ["repro", "papers"])
def test_every_import_is_of_a_declared_dependency(folder):
    known, distributions = declared(), packages_distributions()
    expected = set(sys.stdlib_module_names) | {"repro", "papers"} | OPTIONAL | COME_WITH_OTHERS
    for path in (ROOT / folder).rglob("*.py"):
        for package in imported(path) - expected:
            assert {normal(name) for name in distributions.get(package, [])} & known, (str(path), package)
