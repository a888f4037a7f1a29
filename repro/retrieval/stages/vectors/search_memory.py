"""The memory that a search may hold: as stated, else half of what machine and control groups leave."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

from repro.errors import UsageError
from repro.machine.system import bytes_of

VARIABLE = "REPRO_SEARCH_MEMORY"
LEAST = 2**26  # even where nothing is free
V2 = ("memory.max", "memory.current", "active_file", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file")


def search_memory() -> int:
    """Bytes for vectors, scores and rankings: REPRO_SEARCH_MEMORY, else half of what is free now.

    Where next to nothing is free it is 64 MiB.

    Raises:
        UsageError: the variable is not a positive size.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    return parse_size(setting) if setting else max(LEAST, free_memory() // 2)


def parse_size(size: str) -> int:
    """``1GB``, ``1.5 GiB`` or ``1000000`` in bytes. Raises UsageError for what is no positive size."""
    if number := bytes_of(size):
        return number
    raise UsageError(f"{VARIABLE} is {size!r}, which is no size; write it like 1GB, 800MB or 1.5GiB")


def free_memory() -> int:
    """Bytes that can be had without swapping or exceeding the limit of a job or container."""
    amounts = (_free_bytes(folder, names) for folder, names in _control_groups())
    return min([psutil.virtual_memory().available, *(bytes_ for bytes_ in amounts if bytes_ is not None)])


def _control_groups() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Folders of the groups of this process, its own and each around it, with their version's file names."""
    for line in (_text("/proc/self/cgroup") or "0::/").splitlines():
        _, kinds, path = line.split(":", 2)
        if not kinds or "memory" in kinds.split(","):
            mount, names = ("/sys/fs/cgroup/memory", V1) if kinds else ("/sys/fs/cgroup", V2)
            for group in (PurePosixPath(path), *PurePosixPath(path).parents):
                yield f"{mount}{group}".rstrip("/"), names


def _free_bytes(folder: str, names: tuple[str, ...]) -> int | None:
    """Bytes that a control group leaves; None where it has no limit.

    Files that lie in the page cache count as used, but give way: without that, nothing would be left after
    a large file was written.
    """
    limit, usage = (_text(f"{folder}/{name}").strip() for name in names[:2])
    if not (limit.isdecimal() and usage.isdecimal()):  # the word "max"
        return None
    stat = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{folder}/memory.stat"), re.MULTILINE))
    cache = sum(int(stat.get(name, 0)) for name in names[2:])
    return max(0, int(limit) - max(0, int(usage) - cache))


def _text(path: str) -> str:
    """The content of a file; empty where there is none or it may not be read."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
