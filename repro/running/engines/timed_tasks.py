"""Measures how far and how fast the tasks of a stage come, without what it loads before and seals after."""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from repro.progress import OverallProgress, Progress


@dataclass
class _Task:
    """A task as it advances; the pace is that between its first and its last advance."""

    began: float
    done: int = 0
    first: tuple[float, int] | None = None
    last: tuple[float, int] | None = None

    def advance(self, n: int) -> None:
        self.done += n
        self.last = time.monotonic(), self.done
        self.first = self.first or self.last

    def facts(self) -> dict[str, float]:
        """``done``, ``seconds``, and ``pace``, seconds of one unit, where it advanced twice or more."""
        facts = {"done": self.done, "seconds": round(time.monotonic() - self.began, 3)}
        if self.first and self.last and self.last[1] > self.first[1]:
            facts["pace"] = (self.last[0] - self.first[0]) / (self.last[1] - self.first[1])
        return facts


class TimedTasks(Progress):
    """Shows what ``shown`` shows, and remembers each task by its name; of one name the longest."""

    def __init__(self, shown: Progress):
        self._shown = shown
        self.facts: dict[str, dict[str, float]] = {}

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, *, log: Path | None = None):
        timer = _Task(time.monotonic())
        with self._shown.task(name, total, log=log) as advance:

            def advance_both(n: int = 1) -> None:
                timer.advance(n)
                advance(n)

            yield advance_both
        facts, longest = timer.facts(), self.facts.get(name)
        if longest is None or facts["seconds"] > longest["seconds"]:
            self.facts[name] = facts

    def showing(self) -> contextlib.AbstractContextManager[None]:
        return self._shown.showing()

    def begins(self, piece: str, whole: OverallProgress | None = None) -> None:
        self._shown.begins(piece, whole)

    def ends(self, piece: str, how: str, whole: OverallProgress | None = None) -> None:
        self._shown.ends(piece, how, whole)

    def note(self, message: str) -> None:
        self._shown.note(message)
