"""The order in which a training sees its examples, and the way in which it reads a batch of them."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import nn

from repro.errors import UsageError
from repro.retrieval.nn.batches import Buckets, length_buckets
from repro.retrieval.nn.compiled_layers import VARIABLE as COMPILE
from repro.retrieval.nn.compiled_layers import CompiledLayers, compiled_layers
from repro.retrieval.nn.padding_free import VARIABLE, PaddingFree, padding_free
from repro.retrieval.training.declaration import VARIABLES, Execution

Place = tuple[int, int]  # epoch, index


class BatchOrder:
    """Batches of (epoch, index): a new permutation of the examples every epoch, ``steps`` batches in all.

    A batch sampler of a torch DataLoader, which sees the whole training as one pass. Of several processes
    each is given its share of every batch, the one of rank 0 the first.
    """

    def __init__(
        self, examples: int, *, batch_size: int, steps: int, seed: int, rank: int = 0, processes: int = 1
    ):
        self.examples, self.batch_size, self.steps, self.seed = examples, batch_size, steps, seed
        self.rank, self.processes, self.drop_last = rank, processes, False
        last = examples % batch_size if steps > examples // batch_size else 0  # an epoch's, if it comes to it
        smallest = min(batch_size, last or batch_size)
        if smallest < processes:
            raise UsageError(
                f"a batch of {smallest} of the {examples} examples cannot be shared among {processes} "
                f"processes; start {smallest} or fewer"
            )

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[Place]]:
        remaining, epoch = self.steps, 0
        while remaining > 0:
            order = self._permutation(epoch)
            for first in range(0, self.examples, self.batch_size)[:remaining]:
                yield self._share(order, first, epoch)
                remaining -= 1
            epoch += 1

    def at(self, step: int) -> list[Place]:
        """This process's share of the batch after ``step`` others."""
        epoch, batch = divmod(step, self._batches)
        return self._share(self._permutation(epoch), batch * self.batch_size, epoch)

    def shares(self, step: int) -> list[int]:
        """Return the number of examples that each process has of the batch after ``step`` others."""
        return self._sizes(step % self._batches * self.batch_size)

    @property
    def _batches(self) -> int:
        """Batches of an epoch."""
        return -(-self.examples // self.batch_size)

    def _permutation(self, epoch: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch)).permutation(self.examples)

    def _share(self, order: np.ndarray, first: int, epoch: int) -> list[Place]:
        shares = self._sizes(first)
        begin = first + sum(shares[: self.rank])
        return [(epoch, index) for index in order[begin : begin + shares[self.rank]].tolist()]

    def _sizes(self, first: int) -> list[int]:
        """Return the number of examples that each process has of the batch that begins there in its epoch."""
        size, more = divmod(min(self.batch_size, self.examples - first), self.processes)
        return [size + (rank < more) for rank in range(self.processes)]


FILE = "batch_reading.json"  # in a checkpoint
# attribute of an execution -> the variable that asks for it
WAYS = {
    "length_buckets": VARIABLES["length_buckets"][0],
    "padding_free": VARIABLE,
    "compiled": COMPILE,
}


class BatchReading:
    """Reads batches in groups of similar lengths, end to end, or by compiled layers, as the training began.

    Args:
        execution: as it is asked for; of ``padding_free`` it may say nothing.
        checkpoint: that the training goes on from, or None; one of an earlier version does not say how the
            batches before it were read.
        say: hears of each variable that asks for another way than the training began with, or in vain.
        faster: whether it takes less time to read texts end to end, which is done where nobody asks for
            padding, or for groups, which are another cure of it.

    Attributes:
        execution: as it is carried out.
    """

    def __init__(
        self, execution: Execution, checkpoint: Path | None, say: Callable[[str], None], *, faster: bool
    ):
        ways = {} if checkpoint is None else _read_ways(checkpoint)
        for name, value in ways.items():
            setting, variable = getattr(execution, name), WAYS[name]
            if setting not in (None, value["wanted"]):
                words = f"this training began with {variable}={value['wanted']}, not {setting}"
                say(f"{words}, and goes on so: it ends with the bits of one that was not interrupted")
        began = {name: value["wanted"] for name, value in ways.items()}
        if execution.padding_free is None:
            began = {"padding_free": int(faster and execution.length_buckets == 1)} | began
        self.execution = replace(execution, **began)
        if self.execution.compiled and not self.execution.padding_free:
            say(f"{COMPILE}=1 compiles nothing where texts are padded; {VARIABLE}=1 spares padding")
        self._used = {name: ways.get(name, {}).get("used", False) for name in WAYS}

    @contextlib.contextmanager
    def applied_to(self, objective: nn.Module) -> Iterator[None]:
        """Have an objective read its batches in this way for as long as the context lasts."""
        with (
            length_buckets(self.execution.length_buckets) as buckets,
            compiled_layers(bool(self.execution.compiled)) as compiler,
            padding_free(objective, bool(self.execution.padding_free), compiler) as packing,
        ):
            self._read: dict[str, Buckets | PaddingFree | CompiledLayers] = {
                "length_buckets": buckets,
                "padding_free": packing,
                "compiled": compiler,
            }
            yield

    def used(self, name: str) -> bool:
        """Return whether any batch so far was read in one of ``WAYS``, before the checkpoint or since."""
        return self._used[name] or self._read[name].used

    def save(self, checkpoint: Path) -> None:
        """Keep the wanted and the used ways of reading batches beside the weights of a checkpoint."""
        ways = {name: {"wanted": getattr(self.execution, name), "used": self.used(name)} for name in WAYS}
        (checkpoint / FILE).write_text(json.dumps(ways))


def _read_ways(checkpoint: Path) -> dict[str, dict]:
    path = checkpoint / FILE
    return json.loads(path.read_text()) if path.exists() else {}
