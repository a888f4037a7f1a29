import ast
import re
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from repro.machine import IMPORTED_AS, PACKAGES
from tests.trees import nodes, tree

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("repro", "papers")
PARTS = ("score", "train", "bm25")
OF_USERS = (*PARTS, "gpu", "adapters", "sentences", "article", "snakemake")
# extras that the program itself uses
packages_distributions = cache(metadata.packages_distributions)
READ_BY = {"ijson": "ir_datasets", "pytrec-eval-terrier": "ir_measures"}  # which another package imports
NEVER_IMPORTED = {"faiss-gpu", "snakemake-executor-plugin-slurm", "ranx"}  # one of ranx's files is run
NAMES = {"pypandoc": ["pypandoc_binary"]}  # of distributions that need not be installed


def declared(*extras: str) -> set[str]:
    """Names of distributions in ``[project] dependencies`` and extras, written as package indexes do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(x for e in extras for x in project["optional-dependencies"][e])]
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in lines} - {"repro-bench"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def imported(path: Path) -> set[str]:
    """Packages that a file imports, at its top or in a function, or looks for, as ``find_spec("peft")``."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "find_spec"
        ):
            names |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return names - set(sys.stdlib_module_names) - set(FOLDERS)


@cache
def distributions(folders=FOLDERS) -> dict[str, set[str]]:
    """Return each package that the files import -> names of the distributions that it may come with."""
    installed = packages_distributions()
    packages = {
        name for folder in folders for path in (ROOT / folder).rglob("*.py") for name in imported(path)
    }
    return {p: {normal(d) for d in installed.get(p) or NAMES.get(p, [p])} for p in packages}


# packages that fetch or draw
IMPORTED_WHEN_NEEDED = {"beir", "huggingface_hub", "matplotlib", "sklearn"}


def test_what_only_tests_need_is_no_dependency():
    assert not declared(*PARTS) & {
        "pytest",
        "hypothesis",
        "pytest-xdist",
        "tox",
        "radon",
        "ruff",
        "build",
        "mypy",
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_fetches_or_draws_is_imported_when_it_does(folder):
    for path in (ROOT / folder).rglob("*.py"):
        body = tree(path).body
        top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {a.name if isinstance(n, ast.Import) else n.module for n in top for a in n.names}
        assert not {name.split(".")[0] for name in names if name} & IMPORTED_WHEN_NEEDED, path


def test_every_imported_package_is_declared():
    known = declared(*OF_USERS)
    assert {package: names for package, names in distributions().items() if not names & known} == {}


def test_every_declared_package_is_imported():
    used = set().union(*distributions().values(), READ_BY, NEVER_IMPORTED)
    assert declared(*OF_USERS) - used == set()
    assert {normal(reader) for reader in READ_BY.values()} <= declared(*PARTS)


@pytest.mark.parametrize("extra", PARTS)
def test_the_packages_of_an_extra_are_those_that_are_declared(extra):
    assert {normal(name) for name in PACKAGES[extra]} == declared(extra) - declared()


def test_every_name_of_import_is_that_of_the_distribution():
    installed = packages_distributions()
    names = {IMPORTED_AS.get(name, name): normal(name) for extra in PARTS for name in PACKAGES[extra]}
    here = {package: name for package, name in names.items() if package in installed}
    assert {p: n for p, n in here.items() if n not in map(normal, installed[p])} == {} and len(here) > 20


def test_what_only_the_article_needs_is_in_its_extra():
    assert not {"jinja2", "typst", "pypandoc-binary"} & declared(*PARTS)
    assert "jinja2" not in distributions(("repro",))
