"""How much memory a search may hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from repro.errors import UsageError

VARIABLE = "REPRO_SEARCH_MEMORY"
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
UNKNOWN = 2**31  # where the system tells nothing
LEAST = 2**26  # where it tells that nothing is free
V2 = ("memory.max", "memory.current", "active_file", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file")


def search_memory() -> int:
    """Bytes for vectors, scores and rankings: REPRO_SEARCH_MEMORY, else half of what is free now.

    Where next to nothing is free it is 64 MiB.

    Raises:
        UsageError: the variable is not a positive size.
    """
    stated = os.environ.get(VARIABLE, "").strip()
    if stated:
        return parsed(stated)
    free = free_memory()
    return max(LEAST, (UNKNOWN if free is None else free) // 2)


def parsed(size: str) -> int:
    """``1GB``, ``1.5 GiB`` or ``1000000`` in bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size)
    if match and match[2].upper() in UNITS and (number := int(float(match[1]) * UNITS[match[2].upper()])):
        return number
    raise UsageError(f"{VARIABLE} is {size!r}, which is no size; write it like 1GB, 800MB or 1.5GiB")


def free_memory() -> int | None:
    """Bytes that can be had without swapping, the container's rest if that is less; None if nobody tells."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    free = [int(found[1]) * 1024] if found else []
    return min(free + list(_left_in_groups()), default=None)


def _left_in_groups() -> Iterator[int]:
    """Bytes that the control groups of this process leave, its own and each around it that has a limit.

    Files that lie in the page cache count as used, but give way: without that, nothing would be left after
    a large file was written.
    """
    for line in (_text("/proc/self/cgroup") or "0::/").splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        mount, names = ("/sys/fs/cgroup/memory", V1) if kinds else ("/sys/fs/cgroup", V2)
        for group in (PurePosixPath(path), *PurePosixPath(path).parents):
            folder = f"{mount}{group}".rstrip("/")
            limit, used = (_text(f"{folder}/{name}").strip() for name in names[:2])
            if limit.isdecimal() and used.isdecimal():  # not the word "max"
                stat = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{folder}/memory.stat"), re.MULTILINE))
                cached = sum(int(stat.get(name, 0)) for name in names[2:])
                yield max(0, int(limit) - max(0, int(used) - cached))


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
