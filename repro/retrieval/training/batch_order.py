"""The order of a training's examples, and whether its batches are read with padding."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from torch import nn

from repro.errors import UsageError
from repro.retrieval.nn.padding_free import VARIABLE, padding_free
from repro.retrieval.training.declaration import Execution

Place = tuple[int, int]  # epoch, index


@lru_cache(maxsize=2)
def _permutation(examples: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng((seed, epoch)).permutation(examples)


class BatchOrder:
    """Batches of (epoch, index), with a new permutation of the examples every epoch.

    Each process gets its share of every batch, e.g. 4, 3 or 3 of 10 examples. Raises UsageError for more
    processes than examples in a batch.
    """

    def __init__(
        self, examples: int, *, batch_size: int, steps: int, seed: int, rank: int = 0, processes: int = 1
    ):
        self.examples, self.batch_size, self.steps, self.seed = examples, batch_size, steps, seed
        self.rank, self.processes = rank, processes
        last = examples % batch_size if steps > examples // batch_size else 0
        smallest = min(batch_size, last or batch_size)
        if smallest < processes:
            batch = f"a batch of {smallest} of the {examples} examples"
            raise UsageError(
                f"{batch} cannot be shared among {processes} processes. Start {smallest} or fewer."
            )

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[Place]]:
        return map(self.at, range(self.steps))

    def at(self, step: int) -> list[Place]:
        """Return this process's share of the batch of a step, counted from 0."""
        epoch, first = self._position(step)
        shares = self.shares(step)
        begin = first + sum(shares[: self.rank])
        order = _permutation(self.examples, self.seed, epoch)
        return [(epoch, index) for index in order[begin : begin + shares[self.rank]].tolist()]

    def shares(self, step: int) -> list[int]:
        """Return each process's number of examples in the batch of a step."""
        _, first = self._position(step)
        size, more = divmod(min(self.batch_size, self.examples - first), self.processes)
        return [size + (rank < more) for rank in range(self.processes)]

    def _position(self, step: int) -> tuple[int, int]:
        epoch, batch = divmod(step, -(-self.examples // self.batch_size))
        return epoch, batch * self.batch_size


FILE = "batch_reading.json"


class BatchReading:
    """Decides whether batches are read with padding. A resumed training continues as it began."""

    def __init__(
        self, execution: Execution, checkpoint: Path | None, say: Callable[[str], None], *, faster: bool
    ):
        wanted = int(faster) if execution.padding_free is None else execution.padding_free
        self._used = False
        if checkpoint is not None:
            began = json.loads((checkpoint / FILE).read_text())["padding_free"]
            if execution.padding_free not in (None, began["wanted"]):
                words = f"this training began with {VARIABLE}={began['wanted']}"
                say(f"{words} and continues with it instead of {wanted}, to end with the same bits")
            wanted, self._used = began["wanted"], began["used"]
        self.execution = replace(execution, padding_free=wanted)

    @contextlib.contextmanager
    def applied_to(self, objective: nn.Module) -> Iterator[None]:
        with padding_free(objective, bool(self.execution.padding_free)) as self._packing:
            yield

    @property
    def used(self) -> bool:
        return self._used or self._packing.used

    def save(self, checkpoint: Path) -> None:
        way = {"wanted": self.execution.padding_free, "used": self.used}
        (checkpoint / FILE).write_text(json.dumps({"padding_free": way}))
