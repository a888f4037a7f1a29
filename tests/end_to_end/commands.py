"""The command line in this process, which may be killed."""

import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable, Iterator

import pytest

from repro.cli import main
from tests.cli.conftest import Said

STAYS = {
    "_classes",
    "_environment",
    "_git",
    "_loaded",
    "_parse",
    "catalog",
    "declaration",
    "listed_measures",
    "record_of",
    "scales",
}


class Killed(BaseException):
    """The process was killed."""


class Moments:
    """The moments at which a command has a file synced or renamed; at one of them something may happen."""

    def __init__(self) -> None:
        self.left, self.happens = 0, None

    def patched(self, name: str) -> Callable:
        real = getattr(os, name)

        def call(*arguments, **named):
            self._pass()
            return None if name == "fsync" else real(*arguments, **named)

        return call

    def _pass(self) -> None:
        self.left -= 1
        if self.left <= 0 and self.happens:
            self.happens()

    @contextlib.contextmanager
    def at(self, number: int, happens: Callable[[], None]) -> Iterator[None]:
        """Within this context ``happens`` is called at that moment and at every one after it."""
        self.left, self.happens = number, happens
        try:
            yield
        finally:
            self.happens = None


def repro(*arguments: str) -> Said:
    """The command line in this process, which has forgotten what an earlier command knew."""
    forget()
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as left,
    ):
        patch.setattr(sys, "argv", ["repro", *arguments])
        main()
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return Said(left.value.code, out.getvalue(), err.getvalue())


def forget(*, everything: bool = False) -> None:
    """Empty the suite's caches, as a new process has them; without ``everything`` not of what stays."""
    for cached in _caches(frozenset(sys.modules)):
        if everything or cached.__name__ not in STAYS:
            cached.cache_clear()


@functools.lru_cache(maxsize=1)
def _caches(modules: frozenset[str]) -> list:
    suite = [module for name, module in sys.modules.items() if name.startswith("repro.") and module]
    found = {id(v): v for module in suite for v in vars(module).values() if hasattr(v, "cache_clear")}
    return list(found.values())
