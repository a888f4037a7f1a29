"""Exercises on equations of papers, e.g. ``repro new exercise PAPER/NAME -o DIR``, and their grades.

An exercise is a YAML file in the folder ``exercises`` of a paper.
"""

import functools
import itertools
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

import click
from pydantic import Field

from repro.errors import BlockedError, UsageError, check_known
from repro.locations import CHECKOUT, PAPERS
from repro.machine import INSTALL, absent
from repro.manifest import yaml_file
from repro.manifest.papers import folders_with, load
from repro.plugins.exercises import child

BATCHES, SECONDS = 100, 60
FOLDER = Path(__file__).parent
TEST, TASK = (Template((FOLDER / f"{name}.txt").read_text()) for name in ("test_solution.py", "task.md"))
Json = dict[str, Any]


class Change(yaml_file.StrictMapping):
    """An edit of a right solution from ``old`` (all of it if "") to ``new``. The result is wrong or, with a
    ``reading``, e.g. "loss-reduction=as-printed", follows another choice."""

    old: str = ""
    new: str
    message: str
    reading: str = ""


class Exercise(yaml_file.StrictMapping):
    """The content of an exercise's file.

    Attributes:
        choices: id of a reading -> the required choice.
        grader: Python functions. ``batch(random, **sizes)`` makes inputs, ``expected(suite, **inputs)`` an
            output, ``invariant(**inputs)`` inputs with the same output, after ``back(value)`` if defined, and
            ``without_gradient(**inputs)`` a mask of the first of ``gradients``.
        degenerate: name -> ``sizes`` of a batch.
        right: right solutions that do not use the suite.
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
    right: tuple[str, ...]
    wrong: tuple[Change, ...]

    @property
    def function(self) -> str:
        return self.signature.removeprefix("def ").partition("(")[0]

    @property
    def checks(self) -> list[str]:
        names = ["shapes and dtypes", f"values of {BATCHES} random batches"]
        names += [f"gradients of {BATCHES} random batches"] if self.gradients else []
        names += [*(f"degenerate: {name}" for name in self.degenerate), f"invariance: {self.invariance}"]
        return names + ([f"zero gradient: {self.zero}"] if self.zero else [])

    def changed(self, change: Change) -> str:
        return self.right[0].replace(change.old, change.new) if change.old else change.new

    def message(self, change: Change) -> str:
        id, _, choice = change.reading.partition("=")
        known = f"This is choice {choice} of {id}, and no mistake: {change.message}"
        return f"{known} The task requires: {self.choices[id]}" if id else change.message


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Return the exercises by ``PAPER/NAME``, the easiest of each paper first."""
    found = {
        f"{folder.name}/{path.stem}": yaml_file.read(path, Exercise)
        for folder in folders_with("exercises")
        for path in sorted((folder / "exercises").glob("*.yaml"))
    }
    return dict(sorted(found.items(), key=lambda pair: (pair[0].partition("/")[0], pair[1].difficulty)))


def exercise(name: str) -> Exercise:
    """Return an exercise. Raises UsageError if it is unknown, BlockedError without its packages."""
    check_known("exercise", name, valid=exercises(), hint="`repro new exercise` lists them.")
    extra = exercises()[name].extra
    if extra != "base" and absent(extra):
        raise BlockedError(f"{name} needs the extra {extra}", f"install it by `{INSTALL.format(extra)}`")
    return exercises()[name]


def _executed(source: str) -> Json:
    names: Json = {}
    exec(source, names)
    return names


def _drawn(task: Exercise, seed: int, make: Callable[[], Json]) -> Json:
    if task.extra != "train":
        return child.packed(make())
    import torch

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return child.packed(make())
    finally:
        torch.set_default_dtype(default)


class Cases:
    """Packed batches of an exercise: random ones, degenerate ones, and changed copies of the first ones.

    ``expected`` are the suite's outcomes, ``zeros`` masks of inputs without a gradient.
    """

    def __init__(self, task: Exercise, count: int) -> None:
        self.task, self.count, self.copies = task, count, max(1, count // 10)
        code = _executed(task.grader)
        self.back = code.get("back", lambda value: value)
        makers = [partial(code["batch"], random.Random(n)) for n in range(count)]
        makers += [partial(code["batch"], random.Random(0), **sizes) for sizes in task.degenerate.values()]
        draws = [_drawn(task, n, make) for n, make in enumerate(makers)]
        inputs = list(map(child.unpacked, draws[:count]))
        changes = [partial(code["invariant"], **some) for some in inputs[: self.copies]]
        self.batches = [*draws, *(_drawn(task, n, make) for n, make in enumerate(changes))]
        zeros = (code["without_gradient"](**some) for some in inputs if task.zero)
        self.zeros = [child.packed(mask)["values"] for mask in zeros]
        self.expected = self._outcomes(partial(code["expected"], load(task.suite)))

    def outcomes(self, source: str) -> list[Json]:
        """Run the source of a trusted solution. Returns its outcome for each batch."""
        return self._outcomes(_executed(source)[self.task.function])

    def _outcomes(self, function) -> list[Json]:
        return [child.outcome(function, batch, self.task.gradients) for batch in self.batches]

    def restored(self, outcome: Json) -> Any:
        """Apply the grader's function ``back`` to a copy's output. Returns ``...`` if that fails."""
        try:
            return self.back(outcome["value"])
        except Exception:
            return ...

    @functools.cached_property
    def wrong(self) -> list[list[Json]]:
        return [self.outcomes(self.task.changed(change)) for change in self.task.wrong]


class Check(NamedTuple):
    name: str
    passed: bool
    message: str


@dataclass(frozen=True)
class Grade:
    """The checks of a solution, messages on known mistakes, and the reason for a score of 0, or ""."""

    checks: Sequence[Check] = ()
    mistakes: Sequence[str] = ()
    reason: str = ""

    @property
    def score(self) -> float:
        return 0.0 if self.reason else sum(c.passed for c in self.checks) / len(self.checks)

    def as_json(self) -> Json:
        checks = [check._asdict() for check in self.checks]
        return {"score": round(self.score, 4)} | vars(self) | {"checks": checks}


def same(left: Any, right: Any) -> bool:
    """Return whether packed outcomes are equal up to a relative 1e-8. All errors are equal."""
    match left, right:
        case {"error": _}, {"error": _}:
            return True
        case dict(), dict():
            return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case int() | float(), int() | float():
            both_nan = math.isnan(left) and math.isnan(right)
            return both_nan or math.isclose(left, right, rel_tol=1e-8, abs_tol=1e-10)
    return left == right


def _shape(outcome: Json) -> Any:
    value = outcome.get("value")
    if isinstance(value, dict):
        return value | {"values": None}
    return len(value) if isinstance(value, list) else isinstance(value, int | float)


def judged(cases: Cases, outcomes: list[Json]) -> Grade:
    """Grade a solution by its outcomes for ``cases.batches``."""
    error = next((f" ({each['error']})" for each in outcomes if "error" in each), "")
    checks = [
        Check(title, all(passed), f"{passed.count(False)} of {len(passed)} fail{error}")
        for title, passed in zip(cases.task.checks, _passed(cases, outcomes), strict=True)
    ]
    if all(check.passed for check in checks):
        return Grade(checks)
    if all(same(outcomes[0], each) for each in outcomes[1 : cases.count]):
        return Grade(checks, reason=f"The output is the same for all batches{error}")
    return Grade(checks, _mistakes(cases, outcomes))


def _passed(cases: Cases, outcomes: list[Json]) -> Iterator[list[bool]]:
    pairs = list(zip(outcomes, cases.expected, strict=True))
    yield [_shape(a) == _shape(b) for a, b in pairs]
    for part in ("value", "gradients")[: 2 if cases.task.gradients else 1]:
        yield [part in a and same(a[part], b[part]) for a, b in pairs[: cases.count]]
    yield from ([same(*pair)] for pair in pairs[cases.count : -cases.copies])
    copies = zip(outcomes[-cases.copies :], outcomes[: cases.copies], strict=True)
    yield ["value" in b and same(cases.restored(a), b["value"]) for a, b in copies]
    if cases.task.zero:
        yield list(map(_is_zero, outcomes[: cases.count], cases.zeros))


def _is_zero(outcome: Json, mask: list[bool]) -> bool:
    nothing = [{"values": itertools.repeat(math.nan)}]
    return not any(itertools.compress((outcome.get("gradients") or nothing)[0]["values"], mask))


def _mistakes(cases: Cases, outcomes: list[Json]) -> list[str]:
    shares = []
    for made in cases.wrong:
        equal = [same(a, b) for a, b, e in zip(made, outcomes, cases.expected, strict=True) if not same(a, e)]
        shares.append(sum(equal) / max(1, len(equal)))
    best = max(shares)
    return [cases.task.message(cases.task.wrong[shares.index(best)])] if best >= 0.5 else []


def grade(name: str, folder: Path, *, batches: int = BATCHES) -> Grade:
    """Grade ``solution.py`` in an exercise's folder. A wrong folder scores 0, with a reason. Raises
    UsageError for an unknown exercise, BlockedError without its packages."""
    if reason := _taken_over(name, folder):
        return Grade(reason=reason)
    cases = Cases(exercise(name), batches)
    found = _child_outcomes(cases, _text(folder / "solution.py"))
    return Grade(reason=found["reason"]) if isinstance(found, dict) else judged(cases, found)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _taken_over(name: str, folder: Path) -> str:
    texts, test = files(name), folder / "test_solution.py"
    if others := {p.name for p in folder.iterdir() if p.name[0] != "."} - {*texts, "__pycache__"}:
        return f"{min(others)} is no file of the exercise and could take over the test."
    if test.exists() and _text(test) != texts[test.name]:
        return "test_solution.py was changed. Write the folder again."
    return "" if (folder / "solution.py").is_file() else "solution.py does not exist."


def _child_outcomes(cases: Cases, source: str) -> list[Json] | Json:
    folders = map(str, (FOLDER.parents[1], PAPERS, CHECKOUT / "tests", CHECKOUT / "oracles"))
    facts: Json = {"function": cases.task.function, "gradients": cases.task.gradients}
    facts |= {"source": source, "batches": cases.batches, "folders": list(folders)}
    command, text = [sys.executable, "-I", child.__file__], json.dumps(facts)
    try:
        printed = subprocess.check_output(command, input=text, text=True, timeout=SECONDS)
        return json.loads(printed.partition("\n")[0])
    except subprocess.TimeoutExpired:
        return {"reason": f"solution.py gave no results within {SECONDS} seconds."}
    except (subprocess.SubprocessError, ValueError):
        return {"reason": "solution.py ended its process, so there are no results."}


def files(name: str) -> dict[str, str]:
    """Return name -> text of the files in an exercise's folder. Raises the errors of ``exercise()``."""
    task = exercise(name)
    facts = vars(task) | {"name": name, "task": task.task.strip()}
    for key in ("inputs", "choices"):
        facts[key] = "\n".join(f"- `{each}`: {text}" for each, text in facts[key].items()) or "- none"
    facts["checks"] = "\n".join(f"- {check}" for check in task.checks)
    solution = f'{task.signature}\n    """{task.title}: see task.md."""\n    raise NotImplementedError\n'
    texts = {"task.md": TASK.substitute(facts), "test_solution.py": TEST.substitute(name=name)}
    return {"solution.py": solution} | texts


@click.command(
    "exercise", epilog="\b\nExamples:\n  repro new exercise\n  repro new exercise PAPER/NAME -o DIR"
)
@click.argument("name", required=False)
@click.option("-o", "--output", metavar="DIR", help="Folder to write (default: NAME without PAPER/).")
def command(name, output):
    """Write an exercise on an equation of a paper. Its tests grade your solution and identify known mistakes.

    Without NAME, list the exercises by paper and difficulty.
    """
    from repro.cli.printing import say, table
    from repro.cli.verbs.new import write_files

    if output and name is None:
        raise UsageError("-o needs the name of an exercise. `repro new exercise` lists them.")
    if name is None:
        head = ("exercise", "difficulty", "extra", "title", "source")
        rows = [(n, str(t.difficulty), t.extra, t.title, t.source) for n, t in exercises().items()]
        return table(f"{len(rows)} exercises", head, rows, right=(1,))
    folder = Path(output or name.rpartition("/")[2]).expanduser()
    write_files(folder, files(name))
    return say(f"next: write {folder / 'solution.py'}, then grade it by `python -m pytest {folder}`")
