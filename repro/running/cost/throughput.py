"""Operations a second: of this machine as `repro calibrate` measured it, or of a named GPU, assumed."""

import json
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError, unknown
from repro.running.cost.work import Work
from repro.store import Store

# Peak of dense half-precision matrix products with float32 sums, FLOP/s, from the vendor's data sheets.
PEAKS = {"v100": 125e12, "t4": 65e12, "a100": 312e12, "l4": 121e12, "l40s": 362e12}
PEAKS |= {"h100": 989e12, "h200": 989e12}
ASSUMED = 0.35  # share of the peak that BERT-base reaches: a guess; `repro calibrate` measures


@dataclass(frozen=True)
class Throughput:
    """Operations a second of one device.

    Attributes:
        unit: "GPU" or "CPU": whose hours these are.
        basis: where the numbers are from, for people.
    """

    unit: str
    training: float
    inference: float
    basis: str

    def hours(self, work: Work) -> float | None:
        """Hours of one node's work; None when its work is not known."""
        if not work.is_known:
            return None
        return (work.training / self.training + work.inference / self.inference) / 3600


def throughput(store: Store, gpu: str | None = None) -> Throughput | None:
    """The rate of the named GPU, else that which was calibrated here; None when there is neither.

    Raises:
        UsageError: the GPU is not in the table, or the calibration cannot be read.
    """
    if gpu:
        return assumed(gpu)
    path = calibration_file(store)
    return _calibrated(path) if path.exists() else None


def assumed(gpu: str) -> Throughput:
    """The rate of a named GPU, a share of its data sheet's peak. Raises UsageError for an unknown one."""
    name = gpu.lower()
    if name not in PEAKS:
        raise unknown("GPU", gpu, PEAKS, hint="`repro calibrate` measures the one at hand")
    rate = PEAKS[name] * ASSUMED
    basis = f"{name}, assumed {ASSUMED:.0%} of {PEAKS[name] / 1e12:.0f} TFLOP/s"
    return Throughput("GPU", rate, rate, basis)


def calibration_file(store: Store) -> Path:
    """Where the measurement of this machine lies."""
    return store.root / "calibration.json"


def _calibrated(path: Path) -> Throughput:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        training, inference = (float(kept[kind]["flops_per_second"]) for kind in ("training", "encoding"))
        unit = "GPU" if kept["device"] == "cuda" else "CPU"
        device, day = str(kept["name"]), str(kept["recorded"])[:10]
        if not (training > 0 and inference > 0):
            raise ValueError("a throughput is not positive")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{path} cannot be read ({error}); `repro calibrate` writes it anew") from None
    rates = f"{training / 1e12:.3g} TFLOP/s training, {inference / 1e12:.3g} encoding"
    return Throughput(unit, training, inference, f"{device}, calibrated {day}: {rates}")
