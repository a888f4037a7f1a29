"""The declaration that a script of this folder makes, and the command line that makes its numbers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from oracles.sides import Side, difference, faults
from oracles.written import Case, ConcernedNodes, Oracle, ReleasedCode
from repro.locations import PAPERS

LIBRARIES = ("numpy", "torch", "transformers")


@dataclass(frozen=True)
class Compared:
    """One comparison.

    Attributes:
        about: what is special about it, for people.
        inputs: plain values from which both sides make the same weights, texts, masks and draws.
        ours: ``inputs`` to our side; needs nobody else's code.
        official: a checkout of the released code and ``inputs`` to its side.
        dtype: of the numbers; empty where there are none.
        tolerance: see ``oracles.written.Case``.
    """

    about: str
    inputs: Mapping[str, Any]
    ours: Callable[[Mapping[str, Any]], Side]
    official: Callable[[Path, Mapping[str, Any]], Side]
    dtype: str = "float64"
    tolerance: float = 1e-9


@dataclass(frozen=True)
class Mutation:
    """A change of one of our equations that the test must not pass over.

    Attributes:
        function: ``module:name``, or ``module:Class.name``.
        old, new: a piece of its source that occurs once, and what stands there instead.
    """

    function: str
    old: str
    new: str


@dataclass(frozen=True)
class Declared:
    """One script: what it compares, with which released code, and what of ours it guards.

    Attributes:
        file: ``folder/name``: the numbers lie in papers/<folder>/oracles/<name>.json.
        objective, nodes, numbers, stands_in, shims, departures: see ``written.Oracle``.
    """

    file: str
    objective: str
    code: ReleasedCode
    nodes: tuple[ConcernedNodes, ...]
    cases: Mapping[str, Compared]
    mutations: tuple[Mutation, ...]
    numbers: str = "the loss"
    stands_in: bool = False
    shims: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where its numbers lie."""
        folder, _, name = self.file.partition("/")
        return PAPERS / folder / "oracles" / f"{name}.json"

    def compared(self, checkout: Path, script: str) -> Oracle:
        """Both sides of every case, run and compared. Raises ClickException where they are not equal."""
        return Oracle(
            objective=self.objective,
            script=script,
            code=self.code,
            nodes=self.nodes,
            numbers=self.numbers,
            stands_in=self.stands_in,
            shims=self.shims,
            departures=self.departures,
            software={name: metadata.version(name) for name in LIBRARIES},
            cases={name: _case(name, case, checkout) for name, case in self.cases.items()},
        )


def _case(name: str, case: Compared, checkout: Path) -> Case:
    ours, official = case.ours(case.inputs), case.official(checkout, case.inputs)
    wrong = faults(ours.written(), official.written(), tolerance=case.tolerance)
    if wrong:
        raise click.ClickException(f"{name}: ours is not the released code's: {'; '.join(wrong[:5])}")
    apart = difference(ours, official)
    print(f"{name}: {apart.model_dump(exclude_none=True)}")
    return Case(
        about=case.about,
        dtype=case.dtype,
        inputs=dict(case.inputs),
        official=official.written(),
        difference=apart,
        tolerance=case.tolerance,
    )


def main(declared: Declared) -> None:
    """The command line of a script: compare with a checkout, and write the numbers."""
    script = sys.modules["__main__"].__spec__.name

    @click.command(help=f"Hold ours against {declared.code} and write {declared.file}.json.")
    @click.option("--checkout", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
    def command(checkout: Path) -> None:
        check_commit(checkout, declared.code)
        oracle = declared.compared(checkout, script)
        declared.path.parent.mkdir(exist_ok=True)
        text = oracle.model_dump_json(indent=1, exclude_defaults=True)
        declared.path.write_text(f"{text}\n", encoding="utf-8")
        print(f"{declared.path}: {oracle.difference.model_dump(exclude_none=True)}")

    command()


def check_commit(checkout: Path, code: ReleasedCode) -> None:
    """Refuse a checkout that is at another commit, or in which a file that is run was changed."""
    head = _git(checkout, "rev-parse", "HEAD").strip()
    if head != code.commit:
        raise click.ClickException(f"{checkout} is at {head}; check out {code.commit} of {code.repository}")
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no", "--", *code.files)
    if changed:
        raise click.ClickException(f"{checkout} is not as it was committed: {changed.split()[1]}")


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{checkout} is no git checkout: {done.stderr.strip()}")
    return done.stdout
