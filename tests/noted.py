"""Progress that notes what it is told."""

import contextlib

from repro.progress import Progress


class Noted(Progress):
    """``tasks``: name -> its size, as stated, and how much of it was told to be done."""

    def __init__(self):
        self.tasks: dict[str, list[int | None]] = {}

    @contextlib.contextmanager
    def task(self, name, total=None, *, log=None):
        self.tasks[name] = [total, 0]

        def advance(n=1):
            self.tasks[name][1] += n

        yield advance
