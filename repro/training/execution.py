"""Options of carrying out a training on the machine that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from repro.errors import UsageError

VARIABLES = {
    "micro_batch": ("REPRO_MICRO_BATCH", "examples encoded at once, or unset it for all"),
    "length_buckets": ("REPRO_LENGTH_BUCKETS", "groups of a batch's texts, or unset it for one"),
    "save_steps": ("REPRO_SAVE_STEPS", "steps, or unset it for every ten minutes"),
}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Options that leave the gradient as it is, but for what is drawn from torch's generator, as dropout is.

    To end with the same bits, an interrupted training goes on with the same ones.

    Attributes:
        micro_batch: examples encoded at a time where a process's share of a batch does not fit; None for all.
        length_buckets: groups of similar lengths that a batch is encoded in, in fine-tuning and where a
            pre-training's losses are sums over single texts (not where texts meet in a loss).
        save_steps: steps between checkpoints; None for one every ten minutes.
    """

    micro_batch: int | None = None
    length_buckets: int = 1
    save_steps: int | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Execution:
        """Read the REPRO_ variables. Raises UsageError where one is no number above 0."""
        values = {}
        for name, (variable, wanted) in VARIABLES.items():
            text = environment.get(variable)
            if text is None:
                continue
            if not (text.isascii() and text.isdigit()) or int(text) == 0:
                raise UsageError(f"{variable} is {text!r}; give a number of {wanted}")
            values[name] = int(text)
        return cls(**values)


WHOLE_BATCHES = Execution()
