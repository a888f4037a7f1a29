"""Change one operator, comparison or number of the code at a time and list the changes that no test notices.

``python -m tests.changed_code --sample 30 --seed 1`` runs in a copy of the suite the tests that name
a changed module. ``--settings`` changes settings of papers instead; exit status 1 where one passed unnoticed.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("papers", "repro/retrieval", "repro/store")
COPIED = (
    *("repro", "papers", "tests", "oracles", "pyproject.toml"),
    *("benchmarks", "docs", "README.md", "CONTRIBUTING.md", "results"),
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
OTHER_CHOICES = "tests/papers/test_other_choices.py"
NAMED = (  # a module below papers/, what its first such line says, and what is put there instead
    ("simlm/encoders.py", "DECODER_RATE = 0.3, 0.5", "DECODER_RATE = 0.3, 1.0"),
    ("simlm/encoders.py", "learning_rate=3e-4", "learning_rate=3e-5"),
    ("simlm/marco.py", '_optimisation("distilled"), epochs=6', '_optimisation("distilled"), epochs=2'),
    ("costa/recipes.py", "TEMPERATURE = 0.1", "TEMPERATURE = 0.2"),
    ("costa/recipes.py", 'projector="nonlinear", epochs=6', 'projector="nonlinear", epochs=5'),
    ("costa/recipes.py", '"phrase": 5', '"phrase": 6'),
    ("baselines/wikipedia.py", "warmup_ratio=0.1", "warmup_ratio=0.2"),
    ("cotmae_v2/encoders.py", '"steps": 50_000', '"steps": 5_000'),
    ("cotmae_v2/encoders.py", '"learning_rate": 4e-4', '"learning_rate": 4e-3'),
    ("cotmae_v2/marco.py", "learning_rate: float = 2e-5", "learning_rate: float = 2e-6"),
)


@dataclass(frozen=True)
class Change:
    """A piece of a file, by its place, and what is put there instead."""

    path: Path
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        line = _text(ROOT / self.path).count("\n", 0, self.start) + 1
        return f"{self.path}:{line}: {self.old} -> {self.new}"

    def is_noticed(self, suite: Path, check: Callable[[Change, Path], bool]) -> bool:
        file = suite / self.path
        text = _text(file)
        file.write_text(text[: self.start] + self.new + text[self.start + len(self.old) :], encoding="utf-8")
        try:
            return not check(self, suite)
        finally:
            file.write_text(text, encoding="utf-8")


def changes() -> list[Change]:
    """Return every change of one operator, comparison, sign or number in the rooms."""
    modules = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    found = [change for path in modules for change in (*_numbers(path), *_operators(path))]
    return [change for change in found if tests_of(change.path)]


def settings() -> list[Change]:
    """Return a change of every number in a settings.yaml, an option of a row, and a module of recipes."""
    found: list[Change] = []
    for path in sorted((ROOT / "papers").glob("*/settings.yaml")):
        found += _in_yaml(path, lambda keys: keys[0] == "steps")
        manifest = path.with_name("cells.yaml")
        found += _in_yaml(manifest, lambda keys: "with" in keys) if manifest.exists() else ()
        for module in sorted(path.parent.glob("*.py")):
            found += _numbers(module) if "repro.retrieval.recipe" in _text(module) else ()
    return found


def named() -> list[Change]:
    paths = [Path("papers", name) for name, _, _ in NAMED]
    places = [_text(ROOT / path).index(old) for path, (_, old, _) in zip(paths, NAMED, strict=True)]
    return [Change(p, at, *n[1:]) for p, at, n in zip(paths, places, NAMED, strict=True)]


def _numbers(path: Path) -> Iterator[Change]:
    """Yield another number for each, but for an objective's version: tests/test_layers.py holds it."""
    text, place = _text(path), _places(_text(path))
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    versions = [c.args[1] for c in calls if ast.unparse(c.func) == "Objective" and len(c.args) > 1]
    kept = {(n.lineno, n.col_offset) for n in versions}
    constants = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    for node in constants:
        if type(node.value) in (int, float) and (node.lineno, node.col_offset) not in kept:
            old, start = ast.get_source_segment(text, node), place(node.lineno, node.col_offset)
            yield Change(path.relative_to(ROOT), start, old, str(_other(node.value)))


def _operators(path: Path) -> Iterator[Change]:
    text, place = _text(path), _places(_text(path))
    for node in ast.walk(ast.parse(text)):
        for kind, left, right in _operations(node):
            old, new = OTHERS[kind]
            start = place(left.end_lineno, left.end_col_offset)
            gap = text[start : place(right.lineno, right.col_offset)]
            if old in gap and gap.replace(old, "").strip("() \n\\") == "":
                yield Change(path.relative_to(ROOT), start + gap.index(old), old, new)


def _operations(node: ast.AST) -> Iterator[tuple[type, ast.expr, ast.expr]]:
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
    """Return whether an operand is a string, behind the / of a path."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _in_yaml(path: Path, wanted: Callable[[tuple[str, ...]], bool]) -> Iterator[Change]:
    for keys, node in _scalars(yaml.compose(_text(path), yaml.CSafeLoader), ()):
        if node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float") and wanted(keys):
            other = str(_other(yaml.safe_load(node.value)))
            yield Change(path.relative_to(ROOT), node.start_mark.index, node.value, other)


def _scalars(node: yaml.Node, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], yaml.ScalarNode]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(value, (*keys, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value, keys)
    else:
        yield keys, node


def _other(value: float) -> float:
    return value + 1 if isinstance(value, int) else 2 * value or 0.5


def _places(text: str) -> Callable[[int, int], int]:
    starts, lines = [0, *(match.end() for match in re.finditer("\n", text))], text.splitlines()
    return lambda line, column: starts[line - 1] + len(lines[line - 1].encode()[:column].decode())


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def tests_of(path: Path) -> list[str]:
    """Return the test files that name a module, are called after it, or are of its paper."""
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = module.rpartition(".")
    names = re.compile(rf"{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{re.escape(name)}\b")
    is_of_a_paper = path.parts[0] == "papers"
    places = (f"tests/papers/{path.parts[1]}/", "tests/papers/test_settings.py") if is_of_a_paper else ()
    found = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        place = file.relative_to(ROOT).as_posix()
        is_its_own = file.stem == f"test_{name}" or place.startswith(places)
        if not any(word in place for word in SLOW) and (is_its_own or names.search(_text(file))):
            found.append(place)
    return found


def its_tests_pass(change: Change, suite: Path) -> bool:
    return _passes(suite, ["pytest", "-q", "-x", "-p", "no:cacheprovider", *tests_of(change.path)])


def papers_follow_their_settings(_: Change | None, suite: Path) -> bool:
    papers = [path.parent.name for path in sorted(suite.glob("papers/*/settings.yaml"))]
    names = [name for name in papers if (suite / "papers" / name / "cells.yaml").exists()]
    checks = ["repro", "show", "settings", *names, "--strict", "--failing"], ["pytest", "-q", OTHER_CHOICES]
    return all(_passes(suite, check) for check in checks)


def _passes(suite: Path, module: list[str]) -> bool:
    # a module changed twice in a second would be taken from its compiled form
    environment = os.environ | {"PYTHONPATH": str(suite), "PYTHONDONTWRITEBYTECODE": "1"}
    how = {"cwd": suite, "capture_output": True, "env": environment, "timeout": 60 * MINUTES}
    try:
        return subprocess.run([sys.executable, "-m", *module], **how).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", action="store_true", help="numbers of settings and recipes alone")
    parser.add_argument("--sample", type=int, default=30, help="so many, besides the ten settings by name")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    every, check = (
        (settings(), papers_follow_their_settings) if asked.settings else (changes(), its_tests_pass)
    )
    drawn = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    drawn = [*named(), *drawn] if asked.settings else drawn
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, suite / part)
        if asked.settings and not check(None, suite):
            raise SystemExit("the papers do not follow their settings: `repro show settings --failing`")
        unnoticed = 0
        for change in drawn:
            is_noticed = change.is_noticed(suite, check)
            unnoticed += not is_noticed
            print(f"{'noticed  ' if is_noticed else 'UNNOTICED'} {change}", flush=True)
    print(f"{len(drawn) - unnoticed} of {len(drawn)} changes noticed; {len(every)} to draw from")
    return int(asked.settings and unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
