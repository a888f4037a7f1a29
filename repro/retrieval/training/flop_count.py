"""Floating-point operations of training steps, counted by torch."""

import contextlib
import json
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

FILE = "flops.json"
STEPS = 3
ATTENTION = "_scaled_dot_product_flash_attention"
# torch adds formulas as kernels are loaded, but lacks attention on a CPU
FORMULAS = ChainMap({}, flop_registry)
for _way in ("", "_backward"):
    _formula = flop_registry[getattr(torch.ops.aten, ATTENTION + _way)]
    FORMULAS[getattr(torch.ops.aten, f"{ATTENTION}_for_cpu{_way}")] = _formula
SINGLE: set = set()  # operations that are not made of others


class Flops:
    """Counts matrix products and attention in the first ``STEPS`` steps of a training, forward and backward.

    Recomputed operations count again.
    """

    def __init__(self):
        self.counted: list[int] = []

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        if len(self.counted) == STEPS:
            yield
            return
        with Counter() as counter:
            yield
        self.counted.append(counter.total)

    def facts(self, steps: int) -> dict[str, int]:
        """Return ``flops``, the mean of the counted steps times ``steps``, or {}."""
        if not self.counted:
            return {}
        return {"flops": round(sum(self.counted) / len(self.counted) * steps)}

    def save(self, checkpoint: Path) -> None:
        (checkpoint / FILE).write_text(json.dumps(self.counted))

    def load(self, checkpoint: Path) -> None:
        self.counted = json.loads((checkpoint / FILE).read_text())


class Counter(TorchDispatchMode):
    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        formula = FORMULAS.get(func._overloadpacket)
        if formula is None:
            if func not in SINGLE:
                with self:  # an operation made of others is counted as those
                    result = func.decompose(*args, **kwargs)
                if result is not NotImplemented:
                    return result
                SINGLE.add(func)
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        self.total += self.times(args) * formula(*args, **kwargs, out_val=result)
        return result

    def times(self, factors: tuple) -> int:
        return 1
