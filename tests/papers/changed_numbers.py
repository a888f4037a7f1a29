"""Change one number at a time in the papers' settings and recipes, and list the changes that pass unnoticed.

``python tests/papers/changed_numbers.py --sample 50 --seed 1`` makes each change in a copy of the suite and
holds the papers that have a settings.yaml against their plans there, as ``test_settings.py`` does, and
``test_other_choices.py``. Exit status 1 where a change passed unnoticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
OTHER_CHOICES = "tests/papers/test_other_choices.py"
# a module below papers/, what stands in its first such line, and what is put there instead
NAMED = (
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
    """A piece of a file, by its place, and what stands there instead."""

    path: Path
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        text = (ROOT / self.path).read_text(encoding="utf-8")
        line = text.count("\n", 0, self.start) + 1
        return f"{self.path}:{line}: {self.old} -> {self.new}"

    def noticed(self, suite: Path) -> bool:
        """Whether a check fails, or refuses the file, in a copy of the suite with this change."""
        file = suite / self.path
        text = file.read_text(encoding="utf-8")
        file.write_text(text[: self.start] + self.new + text[self.start + len(self.old) :], encoding="utf-8")
        try:
            return _status(suite) != 0
        finally:
            file.write_text(text, encoding="utf-8")


def _status(suite: Path) -> int:
    """The first exit status that is not 0 of the checks in a copy: settings, then other choices."""
    papers = [path.parent.name for path in sorted(suite.glob("papers/*/settings.yaml"))]
    names = [name for name in papers if (suite / "papers" / name / "cells.yaml").exists()]
    checks = ["repro", "show", "settings", *names, "--strict", "--failing"], ["pytest", "-q", OTHER_CHOICES]
    # a module changed twice in a second would be taken from its compiled form
    environment = os.environ | {"PYTHONPATH": str(suite), "PYTHONDONTWRITEBYTECODE": "1"}
    how = {"cwd": suite, "capture_output": True, "env": environment}
    statuses = (subprocess.run([sys.executable, "-m", *check], **how).returncode for check in checks)
    return next((status for status in statuses if status), 0)


def named() -> list[Change]:
    """The changes of ``NAMED``. Raises ValueError where a line is not found."""
    changes = []
    for name, old, new in NAMED:
        path = Path("papers", name)
        changes.append(Change(path, _text(ROOT / path).index(old), old, new))
    return changes


def numbers() -> list[Change]:
    """A change of every number in a settings.yaml, an option of a row, and a module that builds recipes."""
    changes: list[Change] = []
    for path in sorted((ROOT / "papers").glob("*/settings.yaml")):
        changes += _in_yaml(path, lambda keys: keys[0] == "steps")
        manifest = path.with_name("cells.yaml")
        changes += _in_yaml(manifest, lambda keys: "with" in keys) if manifest.exists() else ()
        for module in sorted(path.parent.glob("*.py")):
            changes += _in_recipe(module) if "repro.retrieval.recipe" in _text(module) else ()
    return changes


def _in_yaml(path: Path, wanted) -> Iterator[Change]:
    for keys, node in _scalars(yaml.compose(_text(path), yaml.CSafeLoader), ()):
        if node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float") and wanted(keys):
            value = yaml.safe_load(node.value)
            yield Change(path.relative_to(ROOT), node.start_mark.index, node.value, str(_other(value)))


def _scalars(node: yaml.Node, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], yaml.ScalarNode]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(value, (*keys, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value, keys)
    else:
        yield keys, node


def _in_recipe(path: Path) -> Iterator[Change]:
    text = _text(path)  # an objective's version is no setting: tests/test_layers.py holds it
    tree = ast.parse(text)
    versions = {
        id(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Objective" and len(node.args) > 1
    }
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and id(node) not in versions:
            before = text.splitlines()[node.lineno - 1].encode()[: node.col_offset].decode()
            start, old = starts[node.lineno - 1] + len(before), ast.get_source_segment(text, node)
            yield Change(path.relative_to(ROOT), start, old, str(_other(node.value)))


def _other(value: float) -> float:
    """Another number that may stand in the same place: an integer one larger, any other doubled."""
    return value + 1 if isinstance(value, int) else 2 * value or 0.5


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> int:
    """Make the changes of the command line and list those that pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=50, help="so many besides the ten by name; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    every = numbers()
    drawn = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        for part in ("repro", "papers"):
            shutil.copytree(ROOT / part, suite / part, ignore=shutil.ignore_patterns("__pycache__"))
        (suite / OTHER_CHOICES).parent.mkdir(parents=True)
        shutil.copy(ROOT / OTHER_CHOICES, suite / OTHER_CHOICES)
        if _status(suite) != 0:
            print("the papers do not follow their settings as they are; see `repro show settings --failing`")
            return 1
        changes = [*named(), *drawn]
        unnoticed = []
        for change in changes:
            noticed = change.noticed(suite)
            print(f"{'noticed  ' if noticed else 'UNNOTICED'} {change}", flush=True)
            unnoticed += [] if noticed else [change]
    noticed = len(changes) - len(unnoticed)
    print(f"{noticed} of {len(changes)} changes noticed; {len(every)} numbers to draw from")
    return int(bool(unnoticed))


if __name__ == "__main__":
    sys.exit(main())
