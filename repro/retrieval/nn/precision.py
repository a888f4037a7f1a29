"""The device, the number format, e.g. ``bf16``, and the threads that a model runs with."""

import contextlib
from collections.abc import Callable, Iterator

import psutil
import torch
from torch import Tensor, nn

from repro.errors import BlockedError, check_known
from repro.machine import kernels, system
from repro.stage_table import PRECISIONS

Tensors = dict[str, Tensor]
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
USABLE = 0.6  # of the memory, before large tensors are recomputed


def device() -> torch.device:
    """Return this process's CUDA device, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device(f"cuda:{system.local_rank() % torch.cuda.device_count()}")


def devices() -> list[torch.device]:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [torch.device(f"cuda:{number}") for number in range(count)] or [torch.device("cpu")]


def check_precision(precision: str) -> str:
    """Return ``precision``. Raises UsageError, or BlockedError for half precision without a GPU."""
    check_known("precision", precision, valid=PRECISIONS)
    if precision != "fp32" and not torch.cuda.is_available():
        raise BlockedError(
            f"precision {precision!r} needs a CUDA GPU and none is visible", "run on a GPU, or use fp32"
        )
    return precision


def autocast(precision: str) -> contextlib.AbstractContextManager:
    """Return the context for a forward pass in ``precision``. With fp32, a GPU does not use TF32."""
    if check_precision(precision) == "fp32":
        return contextlib.nullcontext() if device().type == "cpu" else true_float32()
    return torch.autocast("cuda", dtype=HALVES[precision])


@contextlib.contextmanager
def true_float32() -> Iterator[None]:
    """Multiply float32 matrices in float32, never in TF32, and sum products of bfloat16 in float32."""
    places = [backend.matmul for backend in (torch.backends.cuda, torch.backends.mkldnn)]
    settings = [place.fp32_precision for place in places]
    try:
        old = torch.get_float32_matmul_precision()
    except RuntimeError:
        old = "highest"
    cuda, reduced = places[0], places[0].allow_bf16_reduced_precision_reduction
    torch.set_float32_matmul_precision("highest")
    cuda.allow_bf16_reduced_precision_reduction = False
    for place in places:
        place.fp32_precision = "ieee"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(old)
        cuda.allow_bf16_reduced_precision_reduction = reduced
        for place, precision in zip(places, settings, strict=True):
            place.fp32_precision = precision


SMALL = 2_000_000


def is_small(model: nn.Module) -> bool:
    return sum(p.numel() for name, p in model.named_parameters() if "embedding" not in name) < SMALL


@contextlib.contextmanager
def threads_for(model: nn.Module) -> Iterator[None]:
    """Run a small model on one thread, which gives the same bits on any number of cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if is_small(model) else kernels.THREADS if kernels.is_pinned() else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def ready_for_device(inputs: Tensors) -> Tensors:
    """Return inputs in pinned memory, which a GPU copies without blocking the CPU."""
    if device().type == "cpu":
        return inputs
    return {name: values.pin_memory() for name, values in inputs.items()}


def on_device(inputs: Tensors) -> Tensors:
    """Copy inputs to the device, without waiting for those in pinned memory."""
    processor = device()
    return {name: copied(values, processor) for name, values in inputs.items()}


def copied(values: Tensor, processor: torch.device) -> Tensor:
    """Return a copy of a CPU tensor, made without waiting. ``on_host()`` returns the copy's original."""
    copy = values.to(processor, non_blocking=True)
    if copy is not values:
        copy.original = values  # type: ignore[attr-defined]
    return copy


def on_host(values: Tensor) -> Tensor:
    """Return a tensor on the CPU. This waits for a GPU unless ``copied()`` made the tensor."""
    original = getattr(values, "original", None)
    return values.cpu() if original is None else original


def mapped(function: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """Return ``function(values)``. If ``copied()`` made ``values``, apply it to the original too."""
    result, original = function(values), getattr(values, "original", None)
    if original is not None:
        result.original = function(original)  # type: ignore[attr-defined]
    return result


def is_scarce() -> bool:
    processor = device()
    if processor.type == "cpu":
        return psutil.Process().memory_info().rss > USABLE * system.memory()
    total = torch.cuda.get_device_properties(processor).total_memory
    return torch.cuda.memory_allocated(processor) > USABLE * total


def to_host(values: Tensor) -> Callable[[], Tensor]:
    """Start copying a tensor to the CPU, and return a function that waits for and returns the copy."""
    if values.device.type == "cpu":
        return lambda: values
    copy = values.to("cpu", non_blocking=True)
    event = torch.cuda.Event()
    event.record()

    def wait() -> Tensor:
        event.synchronize()
        return copy

    return wait
