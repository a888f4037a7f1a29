"""The device that faiss searches on here."""

from repro.machine import system, versions

CORE = 50e9  # float32 operations a second of a core, a guess; `repro doctor calibrate` measures
# Both lay their files into one folder: taking one away takes files of the other, so it comes again.
REMEDY = (
    "`pip install 'repro-bench[gpu]'`, then `pip uninstall faiss-cpu`, then"
    " `pip install --force-reinstall --no-deps 'faiss-gpu>=1.15'`"
)


def leaves_gpu_idle() -> bool:
    """Whether there is a GPU, and the faiss that is imported does not use it."""
    return bool(system.gpu()) and not versions.faiss_gpu()


def assumed_rate() -> float:
    """Float32 operations a second of all cores together, as nobody measured them."""
    return CORE * system.cores()
