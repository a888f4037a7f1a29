"""A pager for what is longer than the screen, as git has one."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

from repro.cli import printing


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Show standard output, where it is a terminal, in the pager of REPRO_PAGER or PAGER, else in less.

    Sentences for standard error are printed when the pager has ended, which else they would run through.
    """
    words = shlex.split(os.environ.get("REPRO_PAGER") or os.environ.get("PAGER") or "less")
    if not sys.stdout.isatty() or words[:1] in ([], ["cat"]) or not shutil.which(words[0]):
        yield
        return
    width = {"COLUMNS": str(shutil.get_terminal_size().columns)}
    environment = {"LESS": "FRX", **os.environ}  # to end with a short text, and to keep colours
    pager = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    terminal = os.dup(sys.stdout.fileno())
    assert pager.stdin is not None  # a pipe, as was asked for
    os.dup2(pager.stdin.fileno(), sys.stdout.fileno())
    pager.stdin.close()
    os.environ |= width
    try:
        with printing.held_back():
            try:
                yield
                sys.stdout.flush()
            finally:
                os.dup2(terminal, sys.stdout.fileno())
                pager.wait()
    finally:
        os.close(terminal)
