"""Processor, memory, disk and GPUs, asked of the system, and the memory and launcher of this process."""

import contextlib
import ctypes
import functools
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

GIB = 2**30
CPU_INFORMATION = Path("/proc/cpuinfo")
# a flag of the kernel's -> the instruction set that it tells of, the widest first
INSTRUCTION_SETS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
INSTRUCTION_SETS |= {"sve": "SVE", "asimd": "NEON"}
# a unit as people write it -> its bytes
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h
KEPT = {MMAP: 1 << 30, TRIM: (1 << 31) - 1}  # bytes
USUAL = {MMAP: 32 << 20, TRIM: 64 << 20}  # what glibc sets itself at most, as large blocks are freed
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET = "5"  # what the kernel takes for: the peak begins anew


def hardware() -> dict[str, object]:
    """Return CPU model, cores, memory (GiB) and GPUs, for a record; None for what the system does not say."""
    return {
        "cpu": cpu(),
        "instructions": instruction_set(),
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_gib": round(memory() / GIB, 1),
        "gpu": gpu(),
        "system": platform.platform(),
    }


def cpu() -> str | None:
    """Return the model of the processor, as the system names it."""
    model = re.search(r"^model name\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return model[1].strip() if model else platform.processor() or None


def cpu_flags() -> frozenset[str]:
    """Return what the processor can do, in the names of Linux; nothing where that does not say."""
    line = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return frozenset(line[1].split() if line else ())


def instruction_set() -> str | None:
    """Return the processor's widest instructions for vectors, as AVX2; None where the system is silent."""
    flags = cpu_flags()
    return next((name for flag, name in INSTRUCTION_SETS.items() if flag in flags), None)


@functools.cache
def _cpu_information() -> str:
    try:
        return CPU_INFORMATION.read_text()
    except OSError:
        return ""


def gpu() -> list[str] | None:
    """Return names of NVIDIA GPUs, with their memory where nvidia-smi has it; None without one to use."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # how a user hides them from torch
        return None
    names = _gpus_by_nvidia_smi() or _gpus_by_proc()
    return names or None


def gpu_memory() -> int | None:
    """Return bytes of the smallest GPU, where nvidia-smi tells them; None without."""
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
    """Return CPU cores this process may use, which on a cluster are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stated_threads() -> int | None:
    """Return the threads that OMP_NUM_THREADS states; None where it is no number above 0."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return (int(text) or None) if text.isdigit() else None


def memory() -> int:
    """Return bytes of memory, or the container's limit if that is lower, e.g. of `docker run --memory=8g`."""
    import psutil  # which a plan does not need

    total = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # absent, or the word "max"
            total = min(total, int(Path(limit).read_text()))
    return total


def disk_free(path: Path) -> int:
    """Free bytes of the file system that holds ``path``, or would hold it once made."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def launched_processes() -> int:
    """Return the number of processes that a launcher started for one stage; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", 1))


def launched_rank() -> int:
    """Return the number of this process among them, from 0."""
    return int(os.environ.get("RANK", 0)) if launched_processes() > 1 else 0


def local_rank() -> int:
    """Return this process' number among those of its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", 0))


def local_processes() -> int:
    """Return how many processes a launcher started on this machine for one stage; 1 without a launcher."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def bytes_of(size: str) -> int | None:
    """Return ``1GB``, ``1.5 GiB`` or ``1000000`` in bytes; None for what is no positive size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size.strip())
    if match and match[2].upper() in UNITS:
        return int(float(match[1]) * UNITS[match[2].upper()]) or None
    return None


def size_in_words(size: float) -> str:
    """Return a number of bytes in GB, a small one in MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 5e7 else f"{size / 1e6:,.1f} MB"


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep what is freed in this context for what is allocated next.

    glibc gives every block of more than 32 MB back when it is freed. A step of training allocates the same
    gradients and activations again, of which the system would then clear each page anew: an eighth of the
    time of a step of BERT's size. Where the C library is another one, nothing happens.
    """
    glibc = _glibc()
    if glibc is None:
        yield
        return
    _set(glibc, KEPT)
    try:
        yield
    finally:
        _set(glibc, USUAL)
        glibc.malloc_trim(0)


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None)
    names = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return library if all(hasattr(library, name) for name in names) else None


def _set(glibc: ctypes.CDLL, limits: dict[int, int]) -> None:
    for option, value in limits.items():
        glibc.mallopt(option, value)


class PeakMemory:
    """The peak since it was made, where the kernel lets it begin anew, else that of the process so far."""

    def __init__(self):
        with contextlib.suppress(OSError):
            CLEAR.write_text(RESET)
        self._children = _children_peak()

    def kib(self) -> int:
        """Return KiB of this process, or of the largest that it started and waited for meanwhile."""
        children = _children_peak()
        # the largest ever: below an earlier one nobody can tell
        return max(_resident_peak(), children if children > self._children else 0)


def peak_gpu_bytes() -> int | None:
    """Return the most that torch held of the GPU since ``begin_gpu_peak``; None without a GPU in use."""
    cuda = _cuda()
    return cuda.max_memory_reserved() if cuda else None


def begin_gpu_peak() -> None:
    """Let the peak of the GPU's memory begin anew."""
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def _cuda():
    """Return torch's module of GPUs if this process uses one: a stage that does not must not load torch."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None


def _resident_peak() -> int:
    """Return KiB; ``ru_maxrss`` would count the process that started this one, too."""
    with contextlib.suppress(OSError, StopIteration):
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _kib(resource.RUSAGE_SELF)


def _children_peak() -> int:
    return _kib(resource.RUSAGE_CHILDREN)


def _kib(who: int) -> int:
    peak = resource.getrusage(who).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # bytes there, KiB on Linux
