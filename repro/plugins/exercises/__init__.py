"""Exercises on equations of papers, e.g. ``repro new exercise PAPER/NAME -o DIR``, and their grades.

An exercise is a YAML file in the folder ``exercises`` of a paper.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import click
from pydantic import Field

from repro.errors import BlockedError, UsageError, check_known
from repro.locations import CHECKOUT, PAPERS
from repro.machine import INSTALL, absent
from repro.manifest import yaml_file
from repro.manifest.papers import folders_with, load
from repro.manifest.yaml_file import StrictMapping
from repro.plugins.exercises import child
from repro.store.disk import translated_errors

BATCHES, SECONDS = 100, 60
FILES = ("solution.py", "task.md", "test_solution.py")
MODULES = {"base": (), "score": ("ctypes", "numpy"), "train": ("ctypes", "numpy", "torch")}
Json = dict[str, Any]


class Change(StrictMapping):
    """An edit of the solution that makes it wrong, e.g. another sign, or another ``reading``."""

    old: str
    new: str
    message: str
    reading: str = ""


class Exercise(StrictMapping):
    """An exercise, as in its YAML file.

    Attributes:
        extra: the extra with the packages of the suite's function, or ``base``.
        signature: the line ``def NAME(INPUTS):``.
        choices: id of a reading -> the required choice.
        suite: ``module:function`` of the suite.
        grader: Python functions. ``batch(random, **sizes)`` returns inputs, ``expected(suite, **inputs)``
            the suite's output and ``invariant(**inputs)`` inputs with the same output, after ``back(value)`` if it exists.
            ``without_gradient(**inputs)`` returns a mask of the first tensor of ``gradients``.
        gradients: tensors with a gradient.
        degenerate: name -> ``sizes`` of a batch.
        invariance, zero: the properties that ``invariant`` and ``without_gradient`` check.
        solution: a right solution, independent of the suite.
    """

    title: str
    difficulty: Literal[1, 2, 3]
    extra: Literal["base", "score", "train"]
    source: str
    task: str
    signature: str
    inputs: dict[str, str]
    output: str
    choices: dict[str, str] = Field(default_factory=dict)
    suite: str
    grader: str
    gradients: tuple[str, ...] = ()
    degenerate: dict[str, dict[str, Any]]
    invariance: str
    zero: str = ""
    solution: str
    wrong: tuple[Change, ...]

    @property
    def function(self) -> str:
        return self.signature.removeprefix("def ").partition("(")[0]

    @functools.cached_property
    def code(self) -> Json:
        return _executed(self.grader)

    def changed(self, change: Change) -> str:
        """Return the source of a wrong solution. Raises UsageError if ``old`` does not occur once."""
        if self.solution.count(change.old) != 1:
            raise UsageError(f"{change.old!r} does not occur once in the solution of {self.title!r}")
        return self.solution.replace(change.old, change.new)

    def message(self, change: Change) -> str:
        if not change.reading:
            return change.message
        id, _, choice = change.reading.partition("=")
        required = f"The task requires: {self.choices[id]}"
        return f"This is the choice {choice} of the reading {id}, and no mistake. {change.message} {required}"


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Return the exercises by name, e.g. ``PAPER/NAME``, easy ones of a paper first."""
    found = {
        f"{folder.name}/{path.stem}": yaml_file.read(path, Exercise)
        for folder in folders_with("exercises")
        for path in sorted((folder / "exercises").glob("*.yaml"))
    }
    return dict(sorted(found.items(), key=lambda pair: (pair[0].partition("/")[0], pair[1].difficulty)))


def exercise(name: str) -> Exercise:
    """Return an exercise. Raises UsageError for an unknown name, BlockedError without its packages."""
    check_known("exercise", name, valid=exercises(), hint="`repro new exercise` lists them.")
    extra = exercises()[name].extra
    if extra != "base" and absent(extra):
        raise BlockedError(f"{name} needs the extra {extra}", f"install it by `{INSTALL.format(extra)}`")
    return exercises()[name]


def _executed(source: str) -> Json:
    names: Json = {}
    exec(compile(source, "exercise.yaml", "exec"), names)
    return names


@contextmanager
def _seeded(seed: int, *, with_torch: bool) -> Iterator[random.Random]:
    if not with_torch:
        yield random.Random(seed)
        return
    import torch

    default = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float64)
        try:
            yield random.Random(seed)
        finally:
            torch.set_default_dtype(default)


@dataclass
class Cases:
    """Packed batches of an exercise, and the outcomes of the suite's function.

    Attributes:
        names: the case of each batch: ``random``, a degenerate one, or ``invariant`` for a changed copy of a
            random batch, in their order.
        zeros: a mask of entries without a gradient for each random batch.
    """

    exercise: Exercise
    names: list[str]
    batches: list[Json]
    zeros: list[list[bool]]
    expected: list[Json]

    @classmethod
    def of(cls, task: Exercise, count: int) -> Cases:
        code, with_torch, names, raw = task.code, task.extra == "train", [], []
        sizes = [("random", {})] * count + list(task.degenerate.items())
        for seed, (name, how) in enumerate(sizes):
            with _seeded(seed, with_torch=with_torch) as draws:
                names.append(name)
                raw.append(code["batch"](draws, **how))
        for seed, batch in enumerate(raw[: max(1, count // 10)]):
            with _seeded(seed, with_torch=with_torch):
                names.append("invariant")
                raw.append(code["invariant"](**batch))
        zeros = [child.packed(code["without_gradient"](**b))["values"] for b in raw[:count] if task.zero]
        suite = functools.partial(code["expected"], load(task.suite))
        batches = [child.packed(batch) for batch in raw]
        return cls(task, names, batches, zeros, [child.outcome(suite, b, task.gradients) for b in batches])

    def outcomes(self, source: str) -> list[Json]:
        """Return the outcomes of a trusted source in this process."""
        function = _executed(source)[self.exercise.function]
        return [child.outcome(function, batch, self.exercise.gradients) for batch in self.batches]

    @functools.cached_property
    def wrong(self) -> list[list[Json]]:
        """The outcomes of each known wrong solution."""
        return [self.outcomes(self.exercise.changed(change)) for change in self.exercise.wrong]


@dataclass(frozen=True)
class Check:
    """A graded property, e.g. the gradients. ``message`` is empty if it passed."""

    name: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return not self.message


@dataclass(frozen=True)
class Grade:
    """The share of passed checks, and the known mistakes that the solution resembles.

    ``reason`` explains a score of 0 that the checks do not.
    """

    exercise: str
    checks: Sequence[Check] = ()
    mistakes: Sequence[str] = ()
    reason: str = ""

    @property
    def score(self) -> float:
        return 0.0 if self.reason else sum(c.passed for c in self.checks) / len(self.checks)

    def as_json(self) -> Json:
        checks = [asdict(check) | {"passed": check.passed} for check in self.checks]
        return asdict(self) | {"score": round(self.score, 4), "checks": checks}


def same(left: Any, right: Any) -> bool:
    """Return whether packed outcomes are equal. Numbers may differ by 1e-8 of their size."""
    if isinstance(left, dict) and isinstance(right, dict):
        if "error" in left and "error" in right:
            return True
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, int | float) and isinstance(right, int | float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or math.isclose(left, right, rel_tol=1e-8, abs_tol=1e-10)
    return left == right


def _shape(outcome: Json) -> Any:
    """Return an outcome's dtype and shape, or the length of a list."""
    value = outcome.get("value")
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if key != "values"}
    return len(value) if isinstance(value, list) else outcome.get("error") or type(value) is str


def judged(name: str, cases: Cases, outcomes: list[Json]) -> Grade:
    """Grade the outcomes of a solution on all batches."""
    checks = list(_checks(cases, outcomes))
    if all(check.passed for check in checks):
        return Grade(name, checks)
    of_random = [outcomes[place] for place, case in enumerate(cases.names) if case == "random"]
    is_constant = all(same(of_random[0], each) for each in of_random)
    reason = next((each["error"] for each in of_random if "error" in each), "The output is always the same.")
    mistakes = [] if is_constant else _mistakes(cases, outcomes)
    return Grade(name, checks, mistakes, reason if is_constant else "")


def _checks(cases: Cases, outcomes: list[Json]) -> Iterator[Check]:
    task, expected = cases.exercise, cases.expected
    places = [place for place, case in enumerate(cases.names) if case == "random"]
    pairs = list(zip(outcomes, expected, strict=True))
    yield _check("shapes and dtypes", [_shape(a) == _shape(b) for a, b in pairs], outcomes)
    for part in ("value", "gradients")[: 2 if task.gradients else 1]:
        equal = [part in outcomes[p] and same(outcomes[p][part], expected[p][part]) for p in places]
        yield _check(f"{part.rstrip('s')}s of random batches", equal, outcomes)
    for case in task.degenerate:
        place = cases.names.index(case)
        yield _check(f"batch with {case}", [same(*pairs[place])], [outcomes[place]])
    copies = outcomes[cases.names.index("invariant") :]
    back = task.code.get("back", lambda value: value)
    kept = [
        "value" in a and "value" in b and same(back(a["value"]), b["value"]) for a, b in zip(copies, outcomes)
    ]
    yield _check(f"invariance: {task.invariance}", kept, copies)
    if task.zero:
        first = [each.get("gradients") for each in outcomes[: len(cases.zeros)]]
        zero = [
            bool(some) and all(g == 0 for g, is_zero in zip(some[0]["values"], mask, strict=True) if is_zero)
            for some, mask in zip(first, cases.zeros, strict=True)
        ]
        yield _check(f"zero gradient: {task.zero}", zero, outcomes)


def _check(name: str, passed: Sequence[bool], outcomes: Sequence[Json]) -> Check:
    if all(passed):
        return Check(name)
    error = next((f" ({each['error']})" for each in outcomes if "error" in each), "")
    return Check(name, f"{passed.count(False)} of {len(passed)} batches fail{error}.")


def _mistakes(cases: Cases, outcomes: list[Json]) -> list[str]:
    """Return the message of the wrong solution with most equal outcomes where it is wrong, half at least."""
    shares = []
    for made in cases.wrong:
        wrong = [p for p, each in enumerate(made) if not same(each, cases.expected[p])]
        shares.append(sum(same(made[p], outcomes[p]) for p in wrong) / max(1, len(wrong)))
    best = max(shares, default=0.0)
    return [cases.exercise.message(cases.exercise.wrong[shares.index(best)])] if best >= 0.5 else []


def grade(name: str, folder: Path, *, batches: int = BATCHES) -> Grade:
    """Grade ``solution.py`` in a folder of ``write``. Raises UsageError for an unknown exercise."""
    task = exercise(name)
    if reason := _taken_over(name, folder):
        return Grade(name, reason=reason)
    source = (folder / "solution.py").read_text(encoding="utf-8")
    if reason := _imports_of_suite(source):
        return Grade(name, reason=reason)
    cases = Cases.of(task, batches)
    found = _child_outcomes(cases, source)
    if isinstance(found, list) and len(found) == len(cases.batches):
        return judged(name, cases, found)
    return Grade(name, reason=_reason(found))


def _reason(found: object) -> str:
    facts = found if isinstance(found, dict) else {}
    if "cheat" in facts:
        return f"solution.py {facts['cheat']}. The suite's code cannot be used in a solution."
    return str(facts.get("error") or "solution.py ended without a result.")


def _taken_over(name: str, folder: Path) -> str:
    """Return the file that could replace the grading, as a reason."""
    files = [path.name for path in folder.iterdir() if not path.name.startswith((".", "__pycache__"))]
    if others := sorted({*files} - {*FILES}):
        return f"{others[0]} is no file of the exercise. It could take over the test."
    if "solution.py" not in files:
        return "solution.py does not exist."
    test = folder / "test_solution.py"
    is_changed = test.exists() and test.read_text(encoding="utf-8") != TEST.format(name=name)
    return "test_solution.py was changed. Write the folder again." if is_changed else ""


def _imports_of_suite(source: str) -> str:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError as error:
        return f"solution.py has a syntax error in line {error.lineno}: {error.msg}."
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    used = next((name for name in names if name.partition(".")[0] in child.SUITE), "")
    return _reason({"cheat": f"imports {used}"}) if used else ""


def _child_outcomes(cases: Cases, source: str) -> object:
    task = cases.exercise
    folders = [Path(__file__).parents[2], PAPERS, CHECKOUT / "tests", CHECKOUT / "oracles"]
    request = {"source": source, "function": task.function, "gradients": task.gradients}
    request |= {"batches": cases.batches, "modules": MODULES[task.extra], "folders": list(map(str, folders))}
    try:
        process = subprocess.run(
            [sys.executable, "-I", child.__file__],
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        )
        return json.loads(process.stdout.partition("\n")[0])
    except subprocess.TimeoutExpired:
        return {"error": f"solution.py did not end within {SECONDS} seconds."}
    except ValueError:
        return None


TEST = '''\
"""Grades solution.py: `python -m pytest .`, or `python test_solution.py` for the grade as JSON."""

import json
from pathlib import Path

import pytest

from repro.plugins.exercises import grade

GRADE = grade("{name}", Path(__file__).parent)


@pytest.mark.parametrize("check", GRADE.checks, ids=lambda check: check.name)
def test_check(check):
    if not check.passed:
        pytest.fail(check.message, pytrace=False)


def test_solution():
    if GRADE.score < 1:
        lines = [f"score {{GRADE.score:.2f}}", GRADE.reason, *GRADE.mistakes]
        pytest.fail("\\n".join(filter(None, lines)), pytrace=False)


if __name__ == "__main__":
    print(json.dumps(GRADE.as_json(), indent=1))
'''


def task_text(name: str, task: Exercise) -> str:
    """Return task.md."""
    needs = "no extra" if task.extra == "base" else f"the extra `{task.extra}`"
    parts = [f"# {task.title}", f"Exercise `{name}`, difficulty {task.difficulty} of 3. It needs {needs}."]
    parts += [f"Source: {task.source}.", task.task.strip(), f"```python\n{task.signature}\n```"]
    parts += ["\n".join(f"- `{key}`: {text}" for key, text in [*task.inputs.items(), ("returns", task.output)])]
    if task.choices:
        parts += ["Choices where the paper is open:\n\n" + _listed(task.choices)]
    graded = [f"output{' and gradients' * bool(task.gradients)} equal the suite's on {BATCHES} random batches"]
    graded += [*(f"a batch with {case}" for case in task.degenerate), f"invariance: {task.invariance}"]
    graded += [f"zero gradient: {task.zero}"] if task.zero else []
    parts += ["Graded:\n\n" + "\n".join(f"- {each}" for each in graded)]
    parts += ["Write `solution.py`. `python -m pytest .` grades it. A solution that uses the suite scores 0."]
    return "\n\n".join(parts) + "\n"


def _listed(facts: Mapping[str, str]) -> str:
    return "\n".join(f"- `{key}`: {text}" for key, text in facts.items())


def solution_text(task: Exercise) -> str:
    """Return solution.py without a solution."""
    head = "import torch\n\n\n" if task.extra == "train" else ""
    return f'{head}{task.signature}\n    """{task.title}: see task.md."""\n    raise NotImplementedError\n'


def write(name: str, folder: Path) -> list[Path]:
    """Write the files of an exercise into a new folder. Raises UsageError."""
    task = exercise(name)
    texts = (solution_text(task), task_text(name, task), TEST.format(name=name))
    paths = [folder / file for file in FILES]
    if used := next((path for path in paths if path.exists() or path.is_symlink()), None):
        raise UsageError(f"{used} exists already. Name another folder.")
    with translated_errors(folder, "folder", ""):
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    return paths


def page() -> str:
    """Return the site's page of exercises."""
    rows = [
        f"| `{name}` | {task.difficulty} | {task.extra} | {task.title} | {task.source} | {len(task.wrong)} |"
        for name, task in exercises().items()
    ]
    head = "| exercise | difficulty | extra | title | source | known wrong solutions |\n|---|---|---|---|---|---|"
    about = "`repro new exercise NAME -o DIR` writes an exercise. [Teach](../howto/teach.md) explains its use."
    return "\n".join(["# Exercises", "", about, "", head, *rows, ""])


@click.command(
    "exercise",
    epilog="\b\nExamples:\n  repro new exercise\n  repro new exercise PAPER/NAME -o DIR",
)
@click.argument("name", required=False)
@click.option("-o", "directory", metavar="DIR", help="Folder of the exercise, e.g. ex1. Default: its name.")
def command(name: str | None, directory: str | None) -> None:
    """Write an exercise: implement an equation of a paper, graded by tests that identify known mistakes.

    Without NAME the exercises are listed by paper and difficulty.
    """
    from repro.cli.printing import say, table

    if name is None:
        head = ("exercise", "difficulty", "extra", "title", "source")
        rows = [(n, str(t.difficulty), t.extra, t.title, t.source) for n, t in exercises().items()]
        return table(f"{len(rows)} exercises", head, rows, right=(1,))
    folder = Path(directory or name.rpartition("/")[2]).expanduser()
    for path in write(name, folder):
        print(path)
    say(f"next: write {folder / 'solution.py'}, then `python -m pytest {folder}`")
