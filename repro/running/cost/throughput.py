"""Operations a second: of this machine, as `repro doctor calibrate` measured it, or assumed of a GPU."""

from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError, unknown
from repro.machine import system
from repro.machine.bounded_reading import read_json_file
from repro.machine.system import gpu_memory
from repro.running.cost.work import Work
from repro.store import Store

# Peak of dense half-precision matrix products with float32 sums, FLOP/s, from the vendor's data sheets.
PEAKS = {"v100": 125e12, "t4": 65e12, "a100": 312e12, "l4": 121e12, "l40s": 362e12}
PEAKS |= {"h100": 989e12, "h200": 989e12, "rtx3090": 71e12, "rtx4090": 165e12}
# Peak of float32 without tensor cores, as faiss multiplies, and bytes of memory, from the same sheets.
SINGLE = {"v100": 15.7e12, "t4": 8.1e12, "a100": 19.5e12, "l4": 30.3e12, "l40s": 91.6e12}
SINGLE |= {"h100": 67e12, "h200": 67e12, "rtx3090": 35.6e12, "rtx4090": 82.6e12}
MEMORY = {"v100": 32e9, "t4": 16e9, "a100": 80e9, "l4": 24e9, "l40s": 48e9, "h100": 80e9, "h200": 141e9}
MEMORY |= {"rtx3090": 24e9, "rtx4090": 24e9}
ASSUMED = 0.35  # share of the peak that BERT-base reaches: a guess; `repro doctor calibrate` measures
LAYER = (
    2e-3  # seconds that a layer takes at least in a step of training, by the launches of its kernels: a guess
)


@dataclass(frozen=True)
class Throughput:
    """Operations a second of one device.

    Attributes:
        unit: "GPU" or "CPU": whose hours these are.
        basis: where the numbers are from, for people.
        search: of faiss, on the GPU or on the cores that it takes; None where it is that of inference.
        view_search: of torch in single precision; None likewise.
        memory: bytes of the GPU; None where nobody knows.
        layer: seconds that a layer takes at least, forward and backward, in a step of training.
    """

    unit: str
    training: float
    inference: float
    basis: str
    search: float | None = None
    view_search: float | None = None
    memory: float | None = None
    layer: float = 0.0

    def hours(self, work: Work) -> float | None:
        """Hours of one node's work; None when its work is not known."""
        if not work.is_known:
            return None
        seconds = max(work.training / self.training, work.launched * self.layer)
        seconds += work.inference / self.inference
        seconds += work.search / (self.search or self.inference)
        return (seconds + work.view_search / (self.view_search or self.inference)) / 3600


def throughput(store: Store, gpu: str | None = None) -> Throughput | None:
    """The rate of the named GPU, else that which was calibrated here; None when there is neither.

    Raises:
        UsageError: the GPU is not in the table, or the calibration cannot be read.
    """
    if gpu is not None:
        return assumed_throughput(gpu)
    path = calibration_file(store)
    return _read_calibration(path) if path.exists() else None


def assumed_throughput(gpu: str) -> Throughput:
    """The rate of a named GPU, a share of its data sheet's peak. Raises UsageError for an unknown one."""
    name = gpu.lower()
    if name not in PEAKS:
        raise unknown("GPU", gpu, PEAKS, hint="`repro doctor calibrate` measures the one at hand")
    rate = PEAKS[name] * ASSUMED
    basis = f"{name}, assumed {ASSUMED:.0%} of {PEAKS[name] / 1e12:.0f} TFLOP/s"
    single = SINGLE[name] * ASSUMED
    search_rate = system.assumed_search_rate() if system.leaves_gpu_idle() else single
    return Throughput("GPU", rate, rate, basis, search_rate, single, MEMORY[name], LAYER)


def calibration_file(store: Store) -> Path:
    """The file that holds the measurement of this machine."""
    return store.root / "calibration.json"


def _read_calibration(path: Path) -> Throughput:
    try:
        calibration = read_json_file(path)
        training, inference = (
            float(calibration[kind]["flops_per_second"]) for kind in ("training", "encoding")
        )
        unit = "GPU" if calibration["device"] == "cuda" else "CPU"
        search_rates = _search_rates(calibration)
        device, day = str(calibration["name"]), str(calibration["recorded"])[:10]
        if not (training > 0 and inference > 0):
            raise ValueError("a throughput is not positive")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); `repro doctor calibrate` writes it anew"
        ) from None
    rates = f"{training / 1e12:.3g} TFLOP/s training, {inference / 1e12:.3g} encoding"
    basis = f"{device}, calibrated {day}: {rates}"
    return Throughput(unit, training, inference, basis, *search_rates, gpu_memory())


def _search_rates(calibration: dict) -> tuple[float | None, float | None]:
    """The measured rates of faiss, on the device that it takes, and of torch; None where it is not known."""
    names = ("single_precision_flops_per_second", "cores_flops_per_second")
    single, cores = (float(calibration[name]) if name in calibration else None for name in names)
    return (cores or system.assumed_search_rate()) if system.leaves_gpu_idle() else single, single
