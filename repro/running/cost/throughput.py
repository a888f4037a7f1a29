"""Operations a second: of this machine, as `repro doctor calibrate` measures it, or assumed of a GPU."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from repro.errors import UsageError, unknown
from repro.machine.bounded_reading import read_facts, read_json_file
from repro.machine.system import gpu_memory, hardware
from repro.machine.versions import software
from repro.running.cost.shapes import BASE, Shape
from repro.running.cost.work import Work, forward
from repro.store import Store

SMALL = Shape(4, 256, 1024, 2000)  # what a CPU trains for seconds; a GPU is measured with BERT-base
LENGTH = {"cpu": 128, "cuda": 144}
BATCH = {"cpu": 16, "cuda": 256}
MATRIX = {"cpu": 1024, "cuda": 8192}
SECONDS = 2.0  # each measurement lasts at least so long


@dataclass(frozen=True)
class Throughput:
    """Operations a second of one device.

    Attributes:
        unit: "GPU" or "CPU": whose hours these are.
        basis: where the numbers are from, for people.
        search: in single precision; None where it is that of inference.
        memory: bytes of the GPU; None where nobody knows.
        layer: seconds that a layer takes at least, forward and backward, in a step of training.
        fastest: the most that may be hoped for where nothing was measured, and this is the least.
    """

    unit: str
    training: float
    inference: float
    basis: str
    search: float | None = None
    memory: float | None = None
    layer: float = 0.0
    fastest: "Throughput | None" = None

    def hours(self, work: Work) -> float | None:
        """Return the hours of one node's work; None when its work is not known."""
        if not work.is_known:
            return None
        training, inference, search = work.parts
        seconds = max(training / self.training, work.launched * self.layer) + (work.waited or 0)
        return (seconds + inference / self.inference + search / (self.search or self.inference)) / 3600


def throughput(store: Store, gpu: str | None = None) -> Throughput | None:
    """Return the rate of the named GPU, else the calibrated one, or None. Raises UsageError for an unknown
    GPU."""
    if gpu is not None:
        return assumed_throughput(gpu)
    path = calibration_file(store)
    return _read_calibration(path) if path.exists() else None


@functools.cache
def gpus() -> dict:
    """Read ``gpus.yaml``, which tells what its entries are."""
    return read_facts(Path(__file__).with_name("gpus.yaml"))


def assumed_throughput(gpu: str) -> Throughput:
    """Return the least to greatest shares of a GPU's peak that trainings reached. Raises UsageError for an
    unknown GPU."""
    name, facts = gpu.lower(), gpus()
    if name not in facts["sheets"]:
        raise unknown("GPU", gpu, facts["sheets"], hint="`repro doctor calibrate` measures the one at hand")
    sheet, shares = facts["sheets"][name], [facts[end]["share"] for end in ("least", "greatest")]
    basis = f"{name}, {shares[0]:.0%} to {shares[1]:.0%} of {sheet['half'] / 1e12:.0f} TFLOP/s, not measured"

    def at(share: float, fastest: Throughput | None = None) -> Throughput:
        half, single = share * sheet["half"], share * sheet["single"]
        return Throughput("GPU", half, half, basis, single, sheet["memory"], facts["layer"], fastest)

    return at(shares[0], at(shares[1]))


def calibration_file(store: Store) -> Path:
    """Return the file that holds the measurement of this machine."""
    return store.root / "calibration.json"


def _read_calibration(path: Path) -> Throughput:
    try:
        calibration = read_json_file(path)
        training, inference = (
            float(calibration[kind]["flops_per_second"]) for kind in ("training", "encoding")
        )
        unit = "GPU" if calibration["device"] == "cuda" else "CPU"
        single = calibration.get("single_precision_flops_per_second")
        search = None if single is None else float(single)
        device, day = str(calibration["name"]), str(calibration["recorded"])[:10]
        if not (training > 0 and inference > 0):
            raise ValueError("a throughput is not positive")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); `repro doctor calibrate` writes it anew"
        ) from None
    rates = f"{training / 1e12:.3g} TFLOP/s training, {inference / 1e12:.3g} encoding"
    basis = f"{device}, calibrated {day}: {rates}"
    layer = gpus()["layer"] if unit == "GPU" else 0.0
    return Throughput(unit, training, inference, basis, search, gpu_memory(), layer)


def calibrate(seconds: float = SECONDS) -> dict:
    """Measure this machine, its first GPU if it has one.

    Returns:
        ``device``, ``name`` (of the device), ``precision``, ``model`` (sizes), ``training`` and ``encoding``
        (each ``tokens_per_second`` and ``flops_per_second``, by the formulas of ``repro.running.cost.work``),
        ``matrix_product_flops_per_second``, that of float32 (``single_precision_…``), hardware,
        versions and the time.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = torch.bfloat16 if device == "cuda" else torch.float32
    sizes = BASE if device == "cuda" else SMALL
    machine = hardware()
    name = torch.cuda.get_device_name() if device == "cuda" else f"{machine['cpu']}, {machine['cores']} cores"
    tokens, operations = BATCH[device] * LENGTH[device], forward(sizes, LENGTH[device])

    def rates(step: Callable[[], object], passes: int) -> dict[str, float]:
        rate = tokens / _time_step(step, seconds)
        return {"tokens_per_second": rate, "flops_per_second": rate * passes * operations}

    train, encode = _steps(device, precision, sizes)
    return {
        "device": device,
        "name": name,
        "precision": str(precision).removeprefix("torch."),
        "model": {"layers": sizes.layers, "hidden_size": sizes.hidden, "length": LENGTH[device]},
        "training": rates(train, 3),
        "encoding": rates(encode, 1),
        "matrix_product_flops_per_second": _matrix_product(device, precision, seconds),
        "single_precision_flops_per_second": _matrix_product(device, torch.float32, seconds),
        "hardware": machine,
        "software": software(),
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _matrix_product(device: str, precision, seconds: float) -> float:
    """Return the operations a second of a matrix product; of float32 those of a search, too."""
    import torch

    side = MATRIX[device]
    left, right = (torch.randn(side, side, device=device, dtype=precision) for _ in range(2))
    return 2 * side**3 / _time_step(lambda: left @ right, seconds)


def _steps(device: str, precision, sizes: Shape) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a step of training, forward, backward and AdamW, and one of encoding."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.hidden // 64,
        intermediate_size=sizes.intermediate,
    )
    with torch.device(device):
        model = BertModel(config, add_pooling_layer=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(sizes.vocabulary, (BATCH[device], LENGTH[device]), device=device)  # (N, S)
    autocast = torch.autocast(device, precision, enabled=device == "cuda")

    def train():
        with autocast:
            loss = model(tokens).last_hidden_state.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def encode():
        with torch.inference_mode(), autocast:
            model(tokens)

    return train, encode


def _time_step(step: Callable[[], object], seconds: float) -> float:
    """Return the seconds of a step: the median of blocks of them that last so long in all."""
    import torch
    from torch.utils.benchmark import Timer

    timer = Timer("step()", globals={"step": step}, num_threads=torch.get_num_threads())
    return timer.blocked_autorange(min_run_time=seconds).median
