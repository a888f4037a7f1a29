"""How much memory a search may hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from repro.errors import UsageError

VARIABLE = "REPRO_SEARCH_MEMORY"
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
UNKNOWN = 2**31  # where the system tells nothing


def search_memory() -> int:
    """Bytes for vectors, scores and rankings: REPRO_SEARCH_MEMORY, else half of what is free now.

    Raises:
        UsageError: the variable is not a positive size.
    """
    stated = os.environ.get(VARIABLE, "").strip()
    return parsed(stated) if stated else (free_memory() or UNKNOWN) // 2


def parsed(size: str) -> int:
    """``1GB``, ``1.5 GiB`` or ``1000000`` in bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size)
    if match and match[2].upper() in UNITS and (number := int(float(match[1]) * UNITS[match[2].upper()])):
        return number
    raise UsageError(f"{VARIABLE} is {size!r}, which is no size; write it like 1GB, 800MB or 1.5GiB")


def free_memory() -> int | None:
    """Bytes that can be had without swapping, the container's rest if that is less; None if nobody tells."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    free = int(found[1]) * 1024 if found else None
    limit, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if free is not None and limit.isdecimal() and used.isdecimal():  # not the word "max"
        free = min(free, max(0, int(limit) - int(used)))
    return free


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
