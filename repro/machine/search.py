"""The device that faiss searches on here."""

from repro.machine import system, versions

CORE = 50e9  # float32 operations a second of a core, a guess; `repro calibrate` measures
REMEDY = "`pip uninstall faiss-cpu`, then `pip install 'repro-bench[gpu]'`"


def leaves_gpu_idle() -> bool:
    """Whether there is a GPU, and only a faiss that does not use it."""
    return bool(system.gpu()) and versions.version("faiss-gpu") is None


def assumed_rate() -> float:
    """Float32 operations a second of all cores together, as nobody measured them."""
    return CORE * system.cores()
