"""Training of an objective: HF's Trainer with our order of examples, our log and our checkpoints.

Killed at any step and started again in the same folder, a training ends on a CPU with the same bits.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Protocol

from torch import nn

from repro.errors import UsageError
from repro.nn.length_buckets import length_buckets
from repro.nn.threads import threads_for
from repro.progress import Progress
from repro.training.batch_order import Order, Place
from repro.training.checkpoints import last_complete
from repro.training.optimisation import Optimisation
from repro.training.process_group import everybody_waits, processes, rank


class Examples(Protocol):
    """What is trained on: rows that can be fetched by (epoch, index)."""

    def __len__(self) -> int: ...

    def __getitems__(self, places: list[Place]) -> list[dict]: ...


def train(
    objective: nn.Module, examples: Examples, optimisation: Optimisation, *, out: Path, progress: Progress
) -> dict:
    """Minimise the objective's losses; it is changed in place.

    Checkpoints lie in ``out/checkpoints`` until ``keep``, one every ten minutes or every REPRO_SAVE_STEPS
    steps, each beside a line of the log, and one of the last step; the last complete one is where an
    interrupted training goes on. ``out/train_log.jsonl`` gets about 200 lines of step, learning rate,
    gradient norm and losses (means since the line before).

    Under torchrun every process takes its share of each batch, and all end with the same weights; the one of
    rank 0 writes. REPRO_MICRO_BATCH examples are encoded at a time where a process's share does not fit.
    REPRO_LENGTH_BUCKETS groups of similar lengths are encoded one after another, in fine-tuning and where a
    pre-training's losses are sums over single texts (not where texts meet in a loss). The gradient stays that
    of the whole batch, but what is drawn from torch's generator, as dropout is, falls otherwise: to end with
    the same bits, an interrupted training goes on with the same two variables.

    Returns:
        facts: steps, epochs, examples, losses of the last line of the log, seconds of this attempt, floating-
        point operations of the whole training (``flop_count``), and, where it was so, the step at which it
        was resumed, the ``micro_batch`` and the ``length_buckets``.

    Raises:
        StageError: a loss is not finite.
        UsageError: the objective, or a batch, cannot be shared among processes or cut into parts.
    """
    from repro.training.trainer import ObjectiveTrainer, arguments

    started, steps, checkpoints = time.monotonic(), optimisation.steps(len(examples)), out / "checkpoints"
    made = arguments(optimisation, checkpoints, steps=steps)  # joins the other processes, if there are any
    asked = _asked()
    order = Order(
        len(examples),
        batch_size=optimisation.batch_size,
        steps=steps,
        seed=optimisation.seed,
        rank=rank(),
        processes=processes(),
    )
    trainer = ObjectiveTrainer(
        objective,
        made,
        examples,
        order,
        log=out / "train_log.jsonl",
        resumed=_resumed(checkpoints, steps),
        save_steps=_number("REPRO_SAVE_STEPS", "steps, or unset it for every ten minutes"),
        schedule=optimisation.schedule,
        **asked,
    )
    with (
        progress.task("training", total=steps) as advance,
        threads_for(objective),
        length_buckets(asked["length_buckets"] or 1) as buckets,
    ):
        trainer.run(advance)
    everybody_waits()
    facts = {
        "steps": steps,
        "epochs": steps * optimisation.batch_size / len(examples),
        "examples": len(examples),
        "losses": _last_losses(out / "train_log.jsonl"),
        "seconds": round(time.monotonic() - started, 1),
        **trainer.flops.facts(steps * processes()),
    }
    everybody_waits()  # the first process may now hand the folder on
    return facts | _what_was_so(asked, trainer, grouped=trainer.buckets > 1 or buckets.used)


def keep(objective: nn.Module, out: Path) -> None:
    """Save a trained objective in ``out/model``; only then may its checkpoints go. Rank 0 does it."""
    if rank() == 0:
        objective.save(out / "model")
        shutil.rmtree(out / "checkpoints", ignore_errors=True)


def _asked() -> dict[str, int | None]:
    """What the environment asks of how a batch is encoded, by the names of ``ObjectiveTrainer``."""
    return {
        "micro_batch": _number("REPRO_MICRO_BATCH", "examples encoded at once, or unset it for all"),
        "length_buckets": _number("REPRO_LENGTH_BUCKETS", "groups of a batch's texts, or unset it for one"),
    }


def _what_was_so(asked: dict[str, int | None], trainer, *, grouped: bool) -> dict[str, int]:
    """Of what was asked what came about, and the step at which the training was resumed."""
    told = asked | {"resumed_at": trainer.resumed_at}
    return {name: value for name, value in told.items() if value and (grouped or name != "length_buckets")}


def _resumed(checkpoints: Path, steps: int) -> Path | None:
    if rank() > 0:
        everybody_waits()  # the first process removes what cannot be trusted
    found = last_complete(checkpoints, steps=steps)
    if rank() == 0:
        everybody_waits()
    return found


def _last_losses(log: Path) -> dict[str, float]:
    line = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    return {name: value for name, value in line.items() if name not in ("step", "learning_rate", "grad_norm")}


def _number(variable: str, wanted: str) -> int | None:
    given = os.environ.get(variable)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit()) or int(given) == 0:
        raise UsageError(f"{variable} is {given!r}; give a number of {wanted}")
    return int(given)
