"""A device on a machine that has none: it computes on the CPU, keeps tensors apart and counts waits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

REPOSITORY = Path(__file__).resolve().parents[1]
READS = (torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.cpu)
WAITS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}  # as torch itself marks operations
MASKABLE = ("aten::index", "aten::index_put", "aten::index_put_")


class Elsewhere(torch.Tensor):
    """A tensor on the device; ``inner`` has its values."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: torch.Tensor):
        shape = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, **shape)

    def __init__(self, inner: torch.Tensor):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Device().__torch_dispatch__(func, types, args, kwargs)


class Device(TorchDispatchMode):
    """The device, inside a ``with``; ``waits`` counts by the function of the project that waits."""

    def __init__(self):
        super().__init__()
        self.waits: Counter[str] = Counter()
        self.asked = _Asked(self)
        self.on_host = False  # whether a call is under way that has neither a tensor here nor names a device

    def __enter__(self):
        self.asked.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.asked.__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [leaf for leaf in _leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        is_here = any(isinstance(tensor, Elsewhere) for tensor in tensors)
        others = [t for t in tensors if t.dim() and not isinstance(t, Elsewhere)]
        if is_here and others and _name(func) not in MASKABLE:
            raise RuntimeError(f"{func.name()} meets {tuple(others[0].shape)} numbers that lie on the host")
        if is_here:
            self.wait(_waits(func, args))
        given, named = _each(Elsewhere, lambda tensor: tensor.inner, (args, kwargs))
        output = func(*given, **named)
        if not is_here and (tensors or self.on_host):
            return output
        output = _each(torch.Tensor, Elsewhere, output)
        return return_and_correct_aliasing(func, args, kwargs, output) if is_here else output

    def wait(self, times: int = 1) -> None:
        if times:
            self.waits[_place()] += times


class _Asked(TorchFunctionMode):
    """What a program asks of torch: copies to and from the device, and new tensors on it."""

    def __init__(self, device: Device):
        super().__init__()
        self.device = device

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, leaves = kwargs or {}, [*_leaves((args, kwargs))]
        is_here, to = (any(isinstance(leaf, kind) for leaf in leaves) for kind in (Elsewhere, torch.device))
        if is_here and func in READS:
            self.device.wait()
            return func(args[0].inner, *args[1:], **kwargs)
        before, self.device.on_host = self.device.on_host, not (is_here or to)
        try:
            output = func(*args, **kwargs)
        finally:
            self.device.on_host = before
        if to and isinstance(output, torch.Tensor) and not isinstance(output, Elsewhere):
            if not kwargs.get("non_blocking"):
                self.device.wait()
            return Elsewhere(output)
        return output


def _leaves(held) -> Iterator:
    """Whatever is held in tuples, lists and dictionaries; torch's own walk takes three times as long."""
    if isinstance(held, tuple | list):
        for one in held:
            yield from _leaves(one)
    elif isinstance(held, dict):
        yield from _leaves([*held.values()])
    else:
        yield held


def _each(kind: type, function: Callable, held):
    if isinstance(held, kind):
        return function(held)
    if isinstance(held, tuple | list):
        return type(held)([_each(kind, function, one) for one in held])
    if isinstance(held, dict):
        return {name: _each(kind, function, one) for name, one in held.items()}
    return held


def _name(func) -> str:
    return func.name().partition(".")[0]


def _waits(func, args) -> int:
    if _name(func) not in MASKABLE:
        return int(not WAITS.isdisjoint(func.tags))
    is_filled = len(args) == 3 and args[2].numel() == 1  # one number at all places of a mask needs no count
    places = [each for each in args[1] if each is not None]
    masks = 0 if is_filled else sum(each.dtype == torch.bool for each in places)
    return masks + sum(not isinstance(each, Elsewhere) for each in places)


def _place() -> str:
    frame = sys._getframe(2)
    while frame := frame.f_back:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(REPOSITORY) and path != Path(__file__):
            return f"{path.relative_to(REPOSITORY)}:{frame.f_code.co_name}"
    return "elsewhere"


def there_from(values: torch.Tensor) -> Elsewhere:
    """Return a copy on the device that keeps its original, as ``precision.copied`` does."""
    there = Elsewhere(values)
    there.original = values
    return there


def moved(module: nn.Module) -> nn.Module:
    """The module, changed in place, with parameters and buffers on the device; what is shared stays so."""
    for tensor in (*module.parameters(), *module.buffers()):
        there = Elsewhere(tensor.detach())
        if isinstance(tensor, nn.Parameter):
            there = nn.Parameter(there, requires_grad=tensor.requires_grad)
        torch.utils.swap_tensors(tensor, there)
    return module
