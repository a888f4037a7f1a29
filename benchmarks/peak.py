"""The memory that a benchmark takes in its own process (Linux)."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path


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
