"""The common parts of the benchmarks: comparisons, arguments, peaks of memory, and processes of their own."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import traceback
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[1]
BEFORE = "before"  # the other is an earlier version of the same path
CODE = "repro/__init__.py"  # every checkout has it
FORKS = False  # children share the modules of this process, so that they start at once


def child(
    script: str,
    words: Sequence[str],
    variables: Mapping[str, str] | None = None,
    tree: Path = HERE,
    *,
    empty: bool = False,
) -> dict:
    """Return the JSON that a script prints last in a process of its own, with the code of a checkout.

    The process is ``empty`` if it must not share this one's memory.
    """
    if FORKS and not empty:
        return json.loads(forked(script, words, variables or {}).splitlines()[-1])
    environment = os.environ | {"PYTHONPATH": str(tree), "HF_HUB_OFFLINE": "1"} | dict(variables or {})
    command = [sys.executable, str(Path(script).resolve()), *words]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(told.stdout.splitlines()[-1])


def forked(script: str, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a script in a fork of this process and return its standard output. Raises SystemExit."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        if (process := os.fork()) == 0:
            status = 1
            try:
                os.dup2(told.fileno(), 1)
                os.environ.update(variables)
                sys.argv = [script, *words]
                importlib.import_module(Path(script).stem).main()
                sys.stdout.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(process, 0)
        told.seek(0)
        if status:
            raise SystemExit(f"{Path(script).name} {' '.join(words)} failed")
        return told.read()


@dataclass(frozen=True)
class Beside:
    """The cost of a path and of another, a number of each for every round, in which they took turns.

    Attributes:
        path: the work, "encoding SciFact".
        other: a peer and how it was set, or ``BEFORE``.
        of: what the numbers count, "CPU seconds"; less is better.
        ours, theirs: one for each round, in the order in which they were taken.
        memory: the bytes of ours and of theirs at their peak, where they were counted.
    """

    path: str
    other: str
    of: str
    ours: Sequence[float]
    theirs: Sequence[float]
    memory: Sequence[float] | None = None

    @property
    def ratios(self) -> list[float]:
        """Ours over theirs in each round, in rising order."""
        return sorted(mine / other for mine, other in zip(self.ours, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def memory_ratio(self) -> float | None:
        return self.memory[0] / self.memory[1] if self.memory else None


def folder(text: str) -> Path:
    """The path of a folder that is there."""
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text).resolve()


def checkout(text: str) -> Path:
    """The path of another checkout of the project."""
    path = folder(text)
    if not (path / CODE).is_file():
        raise ArgumentTypeError(f"{text!r} is no checkout of the project: it has no {CODE}")
    return path


def output(text: str | Path) -> Path:
    """The path of a folder that can be written, or made; it is not made here."""
    path = Path(text)
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not there.is_dir():
            raise ArgumentTypeError(f"{str(text)!r} cannot be a folder, since {str(there)!r} is a file")
        tempfile.TemporaryFile(dir=there).close()  # permissions may promise too much
    except OSError as error:
        reason = f"nothing can be written into {str(text)!r} ({error.strerror}); name another folder"
        raise ArgumentTypeError(reason) from None
    return path


def names_among(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A type of names with commas between them, each of them known."""
    known = list(known)

    def names(text: str) -> list[str]:
        given = text.split(",")
        if strange := [name for name in given if name not in known]:
            raise ArgumentTypeError(f"{strange[0]!r} is not known; known: {', '.join(known)}")
        return given

    return names


def sizes_of(known: Iterable[str]) -> Callable[[str], tuple[str, tuple[int, ...]]]:
    """A type of a work with its sizes, ``WORK=N,N,…``."""
    known = list(known)

    def sizes(text: str) -> tuple[str, tuple[int, ...]]:
        work, _, numbers = text.partition("=")
        if work not in known:
            raise ArgumentTypeError(f"there is no work {work!r}; known: {', '.join(known)}")
        each = numbers.split(",")
        if not all(number.isascii() and number.isdigit() and int(number) for number in each):
            raise ArgumentTypeError(f"{text!r} has no sizes; give numbers above 0, such as {work}=10,100")
        return work, tuple(map(int, each))

    return sizes


@contextlib.contextmanager
def peak() -> Iterator[dict[str, int]]:
    """``before`` and, when over, ``peak``: anonymous bytes of this process, looked at every 10 ms."""
    seen, over = {"before": anonymous(), "peak": 0}, threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            seen["peak"] = max(seen["peak"], anonymous())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        seen["peak"] = max(seen["peak"], anonymous())


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    return 1024 * int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1])
