"""Progress on standard error: silent when nothing takes longer than two seconds."""

import contextlib
import sys
import time


class Progress:
    """Reports how far a piece of work has come; this one says nothing (the base of all others)."""

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None):
        """Open a task of ``total`` units; the value given is ``advance(n=1)``."""
        yield lambda n=1: None

    def note(self, message: str) -> None:
        """A line for the reader of the terminal (not for the log)."""


class TerminalProgress(Progress):
    """Bars on a terminal's standard error through rich, once a task has run for ``delay`` seconds."""

    def __init__(self, delay: float = 2.0):
        self.delay = delay

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None):
        started, bar, handle = time.monotonic(), None, None

        def advance(n: int = 1) -> None:
            nonlocal bar, handle, done
            done += n
            if bar is None and sys.stderr.isatty() and time.monotonic() - started > self.delay:
                bar = _bar()
                bar.start()
                handle = bar.add_task(name, total=total)
            if bar is not None:
                bar.update(handle, completed=done)

        done = 0
        try:
            yield advance
        finally:
            if bar is not None:
                bar.stop()

    def note(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("  {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
