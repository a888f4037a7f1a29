"""Change one operator, comparison or number of the code at a time, and list the changes that no test notices.

``python -m tests.changed_code --sample 30 --seed 1`` draws from the modules in which numbers are made
(``ROOMS``), makes each change in a copy of the suite and runs there the tests that name the module, and those
of its name. What passes unnoticed is for a reader: some changes change no value.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.papers.changed_numbers import ROOT, Change

ROOMS = ("papers", "repro/nn", "repro/training", "repro/evaluation", "repro/stages", "repro/store")
COPIED = (
    "repro",
    "papers",
    "tests",
    "oracles",
    "pyproject.toml",
    "benchmarks",
    "docs",
    "README.md",
    "results",
)
SLOW = ("end_to_end", "test_torchrun", "test_killed_trainings", "html", "engines")
OTHERS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
MINUTES = 10  # of the tests of one change; what takes longer is noticed, as a loop without end


def changes() -> list[Change]:
    """Every change of one operator, comparison, sign or number in the rooms."""
    modules = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return [change for path in modules for change in _in_module(path)]


def _in_module(path: Path) -> Iterator[Change]:
    text = path.read_text(encoding="utf-8")
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            old = ast.get_source_segment(text, node)
            yield Change(path.relative_to(ROOT), place(node.lineno, node.col_offset), old, f"({old} + 1)")
        for kind, left, right in _operations(node):
            old, new = OTHERS[kind]
            start = place(left.end_lineno, left.end_col_offset)
            gap = text[start : place(right.lineno, right.col_offset)]
            if old in gap and gap.replace(old, "").strip("() \n\\") == "":
                yield Change(path.relative_to(ROOT), start + gap.index(old), old, new)


def _operations(node: ast.AST) -> Iterator[tuple[type, ast.expr, ast.expr]]:
    """Operators of a node with what stands left and right of each."""
    if isinstance(node, ast.BinOp) and type(node.op) in OTHERS and not _is_text(node.right):
        yield type(node.op), node.left, node.right
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            if type(operator) in OTHERS:
                yield type(operator), left, right
    elif isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield type(node.op), left, right


def _is_text(node: ast.expr) -> bool:
    """Whether an operand is a string, which stands behind the / of a path."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


@functools.cache
def tests_of(path: Path) -> list[str]:
    """The test files that name a module, are called after it, or are of its paper."""
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = module.rpartition(".")
    names = re.compile(rf"{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{re.escape(name)}\b")
    is_of_a_paper = path.parts[0] == "papers"
    places = (f"tests/papers/{path.parts[1]}/", "tests/papers/test_settings.py") if is_of_a_paper else ()
    found = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        place = file.relative_to(ROOT).as_posix()
        is_its_own = file.stem == f"test_{name}" or place.startswith(places)
        if not any(word in place for word in SLOW) and (is_its_own or names.search(file.read_text("utf-8"))):
            found.append(place)
    return found


def noticed(change: Change, suite: Path) -> bool:
    """Whether a test of the module fails in a copy of the suite with this change."""
    file = suite / change.path
    text = file.read_text(encoding="utf-8")
    after = text[change.start + len(change.old) :]
    file.write_text(text[: change.start] + change.new + after, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests_of(change.path)]
    environment = os.environ | {"PYTHONPATH": str(suite), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        how = {"cwd": suite, "capture_output": True, "env": environment, "timeout": 60 * MINUTES}
        return subprocess.run(command, **how).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(text, encoding="utf-8")


def main() -> None:
    """Make the changes that are drawn and list those that pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    every = [change for change in changes() if tests_of(change.path)]
    drawn = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        for part in COPIED:
            whole = ROOT / part
            copy = shutil.copytree if whole.is_dir() else shutil.copy
            copy(whole, suite / part)
        for change in drawn:
            is_noticed = noticed(change, suite)
            unnoticed += not is_noticed
            print(f"{'noticed  ' if is_noticed else 'UNNOTICED'} {change}", flush=True)
    print(f"{len(drawn) - unnoticed} of {len(drawn)} changes noticed; {len(every)} to draw from")


if __name__ == "__main__":
    main()
