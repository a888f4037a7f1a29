"""What a piece of work adds to the memory of a process of its own."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

STATUS = Path("/proc/self/status")
WITHOUT_HUGE_PAGES = 41  # PR_SET_THP_DISABLE of Linux


def peak_growth(work: Callable[[], object], *, warm_up: Callable[[], object] | None = None) -> int:
    """Return the bytes by which a fork of this process grows at most in ``work``, after ``warm_up``."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if warm_up:
                warm_up()
            gc.freeze()  # what is there already is not looked through, of which every page would be copied
            libc = ctypes.CDLL(None)
            libc.prctl(WITHOUT_HUGE_PAGES, 1, 0, 0, 0)  # of which a whole one counts where a part is used
            libc.malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
            before = _kibibytes("VmHWM")
            work()
            os.write(writing, str(_kibibytes("VmHWM") - before).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        grown = answer.read()
    os.waitpid(child, 0)
    assert grown, "the work failed in its process"
    return int(grown) * 1024


def in_fresh_process(function: Callable, *arguments: object):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _kibibytes(name: str) -> int:
    [line] = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])
