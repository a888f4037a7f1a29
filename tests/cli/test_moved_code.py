"""A finished store of which modules have moved since: what says the same is the same code, wherever it lies."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import CELL

ROOT = Path(__file__).resolve().parents[2]
MOVES = {  # five modules of which the stages behind CELL are made, in part into other folders
    "repro/retrieval/evaluation/measures.py": "repro/retrieval/evaluation/effectiveness.py",
    "repro/retrieval/evaluation/run_writer.py": "repro/retrieval/stages/ranked_lists.py",
    "repro/retrieval/datasets/arrow.py": "repro/machine/rows_on_disk.py",
    "repro/retrieval/datasets/tiny/world.py": "repro/retrieval/datasets/tiny/deeds.py",
    "repro/store/disk.py": "repro/machine/files.py",
}


def move(root: Path, places: Mapping[str, str]) -> None:
    """Move files of a checkout, and rewrite all that imports those that are modules."""
    for old, new in places.items():
        (root / old).rename(root / new)
    modules = {_module(old): _module(new) for old, new in places.items() if old.endswith(".py")}
    for path in [*(root / "repro").rglob("*.py"), *(root / "papers").rglob("*.py")]:
        text = path.read_text()
        if any(name.rpartition(".")[2] in text for name in modules):
            path.write_text(_rewritten(text, modules))


def _module(place: str) -> str:
    return place.removesuffix(".py").replace("/", ".")


def _rewritten(text: str, modules: Mapping[str, str]) -> str:
    lines = text.split("\n")
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    for node in sorted(imports, key=lambda node: -node.lineno):
        statements = []
        for alias in node.names:
            own_name = f" as {alias.asname or alias.name}"
            package, _, name = modules.get(f"{node.module}.{alias.name}", "").rpartition(".")
            if package:
                statements.append(f"from {package} import {name}{own_name}")
            else:
                statements.append(
                    f"from {modules.get(node.module, node.module)} import {alias.name}{own_name}"
                )
        if node.module in modules or any(f"{node.module}.{alias.name}" in modules for alias in node.names):
            lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "; ".join(statements)]
    return "\n".join(lines)


def replace_once(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.fixture
def checkout(measured):
    """A copy of the suite's source, to be changed, and the store and the results of CELL."""
    for name in ("repro", "papers"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, measured / "checkout" / name, ignore=ignored)
    return measured / "checkout"


def said(checkout: Path, *arguments: str):
    """What ``repro`` of the checkout says in JSON."""
    command = [sys.executable, "-m", "repro", *arguments, "--format", "json"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_moves_is_the_same_code_and_what_changes_in_it_is_told(checkout):
    move(checkout, MOVES)
    [cell] = said(checkout, "compare", CELL, "--scale", "tiny")
    assert (cell["other_code"], cell["unknown_code"]) == (0, 0)
    assert said(checkout, "store", "verify")["other_code"] == {}
    replace_once(checkout / "repro/retrieval/evaluation/effectiveness.py", "QUERIES = 64 ", "QUERIES = 65 ")
    replace_once(
        checkout / "repro/retrieval/datasets/tiny/words.yaml", "[brave, bold, fearless]", "[brave, bold]"
    )
    differing = said(checkout, "store", "verify")["other_code"]
    by_stage = {name.partition("/")[0]: names for name, names in differing.items()}
    assert by_stage.pop("evaluate") == ["QUERIES"]
    assert by_stage == {stage: ["words.yaml"] for stage in ("corpus", "queries", "qrels")}
