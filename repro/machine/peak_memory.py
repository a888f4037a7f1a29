"""The peak memory of a piece of work in this process, and of the processes that it starts."""

import contextlib
import resource
import sys
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET = "5"  # what the kernel takes for: the peak begins anew


class PeakMemory:
    """The peak since it was made, where the kernel lets it begin anew, else that of the process so far."""

    def __init__(self):
        with contextlib.suppress(OSError):
            CLEAR.write_text(RESET)
        self._children = _children_peak()

    def kib(self) -> int:
        """KiB of this process, or of the largest that it started and waited for meanwhile."""
        children = _children_peak()
        # the largest ever: below an earlier one nobody can tell
        return max(_resident_peak(), children if children > self._children else 0)


def gpu_bytes() -> int | None:
    """The most that torch held of the GPU since ``begin_gpu``; None without a GPU in use."""
    cuda = _cuda()
    return cuda.max_memory_reserved() if cuda else None


def begin_gpu() -> None:
    """Let the peak of the GPU's memory begin anew."""
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def _cuda():
    """torch's module of GPUs if this process uses one: a stage that does not must not load torch for it."""
    import sys

    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None


def _resident_peak() -> int:
    """KiB; ``ru_maxrss`` would count the process that started this one, too."""
    with contextlib.suppress(OSError, StopIteration):
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _kib(resource.RUSAGE_SELF)


def _children_peak() -> int:
    return _kib(resource.RUSAGE_CHILDREN)


def _kib(who: int) -> int:
    peak = resource.getrusage(who).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # bytes there, KiB on Linux
