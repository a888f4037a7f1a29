"""Measures how fast this machine trains and encodes with a BERT, and multiplies matrices."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from repro.machine.system import hardware
from repro.machine.versions import software
from repro.running.cost.shapes import BASE, Shape
from repro.running.cost.work import forward

SMALL = Shape(4, 256, 1024, 2000)  # what a CPU trains for seconds; a GPU is measured with BERT-base
LENGTH = {"cpu": 128, "cuda": 144}
BATCH = {"cpu": 16, "cuda": 256}
MATRIX = {"cpu": 1024, "cuda": 8192}
SECONDS = 2.0  # each measurement lasts at least so long


def calibrate(seconds: float = SECONDS) -> dict:
    """Measure this machine, its first GPU if it has one.

    Returns:
        ``device``, ``name`` (of the device), ``precision``, ``model`` (sizes), ``training`` and ``encoding``
        (each ``tokens_per_second`` and ``flops_per_second``, by the formulas of ``repro.running.cost.work``),
        ``matrix_product_flops_per_second``, that of float32 on the device (``single_precision_…``) and on the
        cores (``cores_…``), hardware, versions and the time.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = torch.bfloat16 if device == "cuda" else torch.float32
    sizes = BASE if device == "cuda" else SMALL
    machine = hardware()
    name = torch.cuda.get_device_name() if device == "cuda" else f"{machine['cpu']}, {machine['cores']} cores"
    train, encode = _steps(device, precision, sizes)
    tokens, operations = BATCH[device] * LENGTH[device], forward(sizes, LENGTH[device])
    return {
        "device": device,
        "name": name,
        "precision": str(precision).removeprefix("torch."),
        "model": {"layers": sizes.layers, "hidden_size": sizes.hidden, "length": LENGTH[device]},
        "training": _rates(_time_step(train, device, seconds), tokens, 3 * operations),
        "encoding": _rates(_time_step(encode, device, seconds), tokens, operations),
        "matrix_product_flops_per_second": _product(device, precision, seconds),
        "single_precision_flops_per_second": _product(device, torch.float32, seconds),
        "cores_flops_per_second": _product("cpu", torch.float32, seconds),
        "hardware": machine,
        "software": software(),
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _product(device: str, precision, seconds: float) -> float:
    """Operations a second of a matrix product; of float32 those of a search, too."""
    import torch

    side = MATRIX[device]
    left, right = (torch.randn(side, side, device=device, dtype=precision) for _ in range(2))
    return 2 * side**3 / _time_step(lambda: left @ right, device, seconds)


def _steps(device: str, precision, sizes: Shape) -> tuple[Callable[[], object], Callable[[], object]]:
    """A step of training, forward, backward and AdamW, and one of encoding."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.hidden // 64,
        intermediate_size=sizes.intermediate,
    )
    model = BertModel(config, add_pooling_layer=False).to(device)
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


def _time_step(step: Callable[[], object], device: str, seconds: float) -> float:
    """Seconds of a step: the mean after two that warm up."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(2):
        step()
    wait()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds or count == 0:
        step()
        count += 1
        if count % 10 == 0:
            wait()  # so that what is queued on a GPU does not run far ahead of the clock
    wait()
    return (time.perf_counter() - start) / count


def _rates(seconds: float, tokens: int, operations: float) -> dict[str, float]:
    return {"tokens_per_second": tokens / seconds, "flops_per_second": tokens * operations / seconds}
