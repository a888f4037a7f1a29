"""Processor, memory, disk and GPUs, asked of the system, and the place that a launcher gave this process."""

import functools
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

GIB = 2**30
CPU_INFORMATION = Path("/proc/cpuinfo")
# a flag of the kernel's -> the instruction set that it tells of, the widest first
INSTRUCTION_SETS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
INSTRUCTION_SETS |= {"sve": "SVE", "asimd": "NEON"}


def hardware() -> dict[str, object]:
    """CPU model, cores, memory (GiB) and GPUs, for a record; None for what the system does not say."""
    total = memory()
    return {
        "cpu": cpu(),
        "instructions": instruction_set(),
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_gib": round(total / GIB, 1) if total else None,
        "gpu": gpu(),
        "system": platform.platform(),
    }


def cpu() -> str | None:
    """The model of the processor, as the system names it."""
    model = re.search(r"^model name\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return model[1].strip() if model else platform.processor() or None


def cpu_flags() -> frozenset[str]:
    """Return what the processor can do, in the names of Linux; nothing where that does not say."""
    line = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return frozenset(line[1].split() if line else ())


def instruction_set() -> str | None:
    """The widest instructions of the processor for vectors, as AVX2; None where the system does not say."""
    flags = cpu_flags()
    return next((name for flag, name in INSTRUCTION_SETS.items() if flag in flags), None)


@functools.cache
def _cpu_information() -> str:
    try:
        return CPU_INFORMATION.read_text()
    except OSError:
        return ""


def gpu() -> list[str] | None:
    """Names of the NVIDIA GPUs, with their memory where nvidia-smi tells it; None without one to use."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # how a user hides them from torch
        return None
    names = _gpus_by_nvidia_smi() or _gpus_by_proc()
    return names or None


def gpu_memory() -> int | None:
    """Bytes of the smallest GPU, where nvidia-smi tells them; None without."""
    sizes = [re.search(r", (\d+) MiB$", name) for name in gpu() or ()]
    return min((int(size[1]) * 2**20 for size in sizes if size), default=None)


def _gpus_by_nvidia_smi() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):  # the latter when a driver hangs
        return []
    lines = answer.stdout.splitlines() if answer.returncode == 0 else []
    return [line.strip() for line in lines if line.strip()]


def _gpus_by_proc() -> list[str]:
    names = []
    for information in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        model = re.search(r"^Model:\s*(.+)$", information.read_text(), re.MULTILINE)
        names.append(model[1].strip() if model else "NVIDIA GPU")
    return names


def cores() -> int:
    """CPU cores this process may use, which on a cluster are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int | None:
    """Bytes of memory, the container's limit if that is lower; None where the system does not say."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):  # absent, or the word "max"
            continue
    return total


def disk_free(path: Path) -> int:
    """Free bytes of the file system that holds ``path``, or would hold it once made."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def launched_processes() -> int:
    """The number of processes that a launcher started for one stage; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", 1))


def launched_rank() -> int:
    """The number of this process among them, from 0."""
    return int(os.environ.get("RANK", 0)) if launched_processes() > 1 else 0


def local_rank() -> int:
    """This process' number among those of its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", 0))


def local_processes() -> int:
    """The number of processes that a launcher started on this machine for one stage; 1 without a launcher."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))
