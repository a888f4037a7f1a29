"""The way in which texts of a batch are read: a training goes on as it began, since dropout falls by it."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from torch import nn

from repro.retrieval.nn.length_buckets import length_buckets
from repro.retrieval.nn.padding_free import VARIABLE, padding_free
from repro.retrieval.training.optimisation import VARIABLES, Execution

FILE = "batch_reading.json"  # in a checkpoint
# attribute of an execution -> the variable that asks for it
WAYS = {"length_buckets": VARIABLES["length_buckets"][0], "padding_free": VARIABLE}


class BatchReading:
    """Reads batches in groups of similar lengths, or end to end, as the training began.

    Args:
        execution: as it is asked for.
        checkpoint: that the training goes on from, or None; one of an earlier version does not say how the
            batches before it were read.
        say: hears of each variable that asks for another way than the training began with.

    Attributes:
        execution: as it is carried out.
    """

    def __init__(self, execution: Execution, checkpoint: Path | None, say: Callable[[str], None]):
        ways = {} if checkpoint is None else _read_ways(checkpoint)
        for name, value in ways.items():
            setting, variable = getattr(execution, name), WAYS[name]
            if setting != value["wanted"]:
                words = f"this training began with {variable}={value['wanted']}, not {setting}"
                say(f"{words}, and goes on so: it ends with the bits of one that was not interrupted")
        self.execution = replace(execution, **{name: value["wanted"] for name, value in ways.items()})
        self._used = {name: ways.get(name, {}).get("used", False) for name in WAYS}

    @contextlib.contextmanager
    def applied_to(self, objective: nn.Module) -> Iterator[None]:
        """Have an objective read its batches in this way for as long as the context lasts."""
        with (
            length_buckets(self.execution.length_buckets) as buckets,
            padding_free(objective, bool(self.execution.padding_free)) as packing,
        ):
            self._read = {"length_buckets": buckets, "padding_free": packing}
            yield

    def used(self, name: str) -> bool:
        """Whether any batch so far was read in one of ``WAYS``, before the checkpoint or since."""
        return self._used[name] or self._read[name].used

    def save(self, checkpoint: Path) -> None:
        """Keep it beside the weights."""
        ways = {name: {"wanted": getattr(self.execution, name), "used": self.used(name)} for name in WAYS}
        (checkpoint / FILE).write_text(json.dumps(ways))


def _read_ways(checkpoint: Path) -> dict[str, dict]:
    path = checkpoint / FILE
    return json.loads(path.read_text()) if path.exists() else {}
