"""The part of a batch that memory holds: as asked for, estimated, or halved when memory runs out."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from repro.errors import StageError
from repro.retrieval.nn.memory import gpu_memory
from repro.retrieval.training.memory import StepMemory
from repro.retrieval.training.optimisation import VARIABLES, Execution
from repro.retrieval.training.parts import Parts

FILE = "micro_batch.json"  # in a checkpoint, so that a resumed training draws the same dropout
VARIABLE = VARIABLES["micro_batch"][0]


def with_estimated_micro_batch(execution: Execution, memory: StepMemory | None, *, share: int) -> Execution:
    """The execution with a micro-batch for this GPU where a step needs one and none was asked for.

    Args:
        memory: what a step takes; None where that is not known.
        share: examples of a batch that a process has at most.
    """
    available = gpu_memory()
    if execution.micro_batch is not None or memory is None or available is None:
        return execution
    size = memory.micro_batch(share, available)
    return execution if size is None else replace(execution, micro_batch=size, origin="estimated")


class Fitting:
    """Keeps the size of a training's parts, and how it came about."""

    def __init__(self, collate: Callable[[list[dict]], dict], execution: Execution, *, buckets: int):
        self.parts = Parts(collate, size=execution.micro_batch, buckets=buckets)
        self.origin, self.fixed = execution.origin, execution.parts_are_fixed
        self._asked = execution.micro_batch is not None and not execution.origin

    def reduce(self, examples: int, *, step: int, why: str) -> None:
        """Halve the parts of a step, in which no process has more than so many examples.

        Raises:
            StageError: they cannot be smaller.
        """
        size = min(self.parts.size or examples, examples)
        if self.fixed or size == 1:
            parts = f"in parts of {size}, over which its loss is a mean" if self.fixed else "one at a time"
            fault = f"memory does not suffice for the examples of step {step}, even {parts} ({why})"
            raise StageError(f"{fault}; {VARIABLE} cannot help, run it where more memory is free")
        self.parts.size = (size + 1) // 2
        self.origin = f"halved at step {step}"

    def facts(self) -> dict[str, int | str]:
        """``micro_batch``, and ``micro_batch_origin`` unless it was asked for; empty for whole batches."""
        if self.parts.size is None:
            return {}
        origin = {"micro_batch_origin": self.origin} if self.origin else {}
        return {"micro_batch": self.parts.size, **origin}

    def save(self, checkpoint: Path) -> None:
        """Keep the size beside the weights."""
        (checkpoint / FILE).write_text(json.dumps({"size": self.parts.size, "origin": self.origin}))

    def load(self, checkpoint: Path) -> None:
        """Go on with the size that a checkpoint was made with, where nobody asked for it."""
        try:
            record = json.loads((checkpoint / FILE).read_text())
        except FileNotFoundError:
            return
        if record["origin"] and not self._asked:
            self.parts.size, self.origin = record["size"], record["origin"]
