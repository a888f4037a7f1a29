"""Training of an objective, with an order of examples, a log and checkpoints from which it can go on.

Killed at any step and started again in the same folder, a training ends on a CPU with the same bits.
"""

import json
import time
from pathlib import Path
from typing import Protocol

from torch import nn

from repro.machine.system import freed_memory_kept
from repro.progress import SILENT, Progress
from repro.retrieval.nn.precision import threads_for
from repro.retrieval.nn.recent_tokens import tokens_remembered
from repro.retrieval.training.batch_order import BatchOrder, Place
from repro.retrieval.training.batch_reading import BatchReading
from repro.retrieval.training.checkpoints import last_complete
from repro.retrieval.training.fitting import with_estimated_micro_batch
from repro.retrieval.training.memory import StepMemory
from repro.retrieval.training.optimisation import WHOLE_BATCHES, Execution, Optimisation
from repro.retrieval.training.process_group import everybody_waits, join_others, processes, rank
from repro.retrieval.training.trainer import ObjectiveTrainer
from repro.store.disk import CHECKPOINTS


class Examples(Protocol):
    """Rows to train on, which can be fetched by (epoch, index)."""

    def __len__(self) -> int: ...

    def __getitems__(self, places: list[Place]) -> list[dict]: ...


def train(
    objective: nn.Module,
    examples: Examples,
    optimisation: Optimisation,
    *,
    out: Path,
    progress: Progress,
    execution: Execution = WHOLE_BATCHES,
    memory: StepMemory | None = None,
) -> dict:
    """Minimise the objective's losses; it is changed in place.

    Checkpoints lie in ``out/checkpoints`` until the artefact is sealed, each beside a line of the log, and
    one of the last step; the last complete one is where an interrupted training goes on.
    ``out/train_log.jsonl`` gets about 200 lines of step, learning rate, gradient norm and losses (means
    since the line before). Under torchrun every process takes its share of each batch, and all end with the
    same weights; the one of rank 0 writes. A step for which memory does not suffice is made in smaller
    parts, and so are those after it; on a GPU ``memory``, what a step takes, says with which size to begin.
    Batches are read as in the steps before the checkpoint, in groups or without padding, and ``progress``
    tells where another way is asked for.

    Returns:
        facts: steps, epochs, examples, losses of the last line of the log, seconds of this attempt, floating-
        point operations of the whole training (``flop_count``), and ``options_in_effect``.

    Raises:
        StageError: a loss is not finite, or memory does not suffice for a single example.
        UsageError: a batch cannot be shared among so many processes.
    """
    start, steps, log = time.monotonic(), optimisation.steps(len(examples)), out / "train_log.jsonl"
    execution = execution.for_parts_of(getattr(objective, "part_size", None))
    join_others()
    share = {"rank": rank(), "processes": processes(), "seed": optimisation.seed}
    order = BatchOrder(len(examples), batch_size=optimisation.batch_size, steps=steps, **share)
    checkpoint = _last_checkpoint(out / CHECKPOINTS, steps)
    bar = progress if rank() == 0 else SILENT
    reading = BatchReading(execution, checkpoint, bar.note)
    execution = with_estimated_micro_batch(reading.execution, memory, share=max(order.shares(0)))
    arguments = {"log": log, "checkpoints": out / CHECKPOINTS, "resumed": checkpoint, "reading": reading}
    trainer = ObjectiveTrainer(objective, examples, optimisation, order, execution=execution, **arguments)
    with (
        bar.task("training", total=steps, log=log) as advance,
        threads_for(objective),
        tokens_remembered(),
        freed_memory_kept(),
        reading.applied_to(objective),
    ):
        trainer.run(advance)
    everybody_waits()
    seconds = round(time.monotonic() - start, 1)
    facts = _outcome(steps, len(examples), optimisation.batch_size, log) | {"seconds": seconds}
    everybody_waits()  # the first process may now hand the folder on
    facts |= trainer.flops.facts(steps * processes())
    return facts | options_in_effect(trainer, reading)


def _outcome(steps: int, examples: int, batch_size: int, log: Path) -> dict:
    """The length of a training, and the losses at its end."""
    epochs = steps * batch_size / examples
    return {"steps": steps, "epochs": epochs, "examples": examples, "losses": _last_losses(log)}


def save_model(objective: nn.Module, out: Path) -> None:
    """Save a trained objective in ``out/model``. Rank 0 does it; its checkpoints go when that is sealed."""
    if rank() == 0:
        objective.save(out / "model")


def options_in_effect(trainer: ObjectiveTrainer, reading: BatchReading) -> dict[str, int | str]:
    """The batch options that took effect, the step the training resumed from, and the number of steps that
    fp16 skipped, if there are any."""
    is_grouped = trainer.buckets > 1 or reading.used("length_buckets")
    options = {
        "length_buckets": is_grouped and reading.execution.length_buckets,
        "resumed_at": trainer.resumed_at,
        "padding_free": int(reading.used("padding_free")),
        "skipped_steps": trainer.optimizer.skipped(trainer.step),
    }
    return trainer.fitting.facts() | {name: value for name, value in options.items() if value}


def _last_checkpoint(checkpoints: Path, steps: int) -> Path | None:
    if rank() > 0:
        everybody_waits()  # the first process removes what cannot be trusted
    checkpoint = last_complete(checkpoints, steps=steps)
    if rank() == 0:
        everybody_waits()
    return checkpoint


def _last_losses(log: Path) -> dict[str, float]:
    line = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    return {name: value for name, value in line.items() if name not in ("step", "learning_rate", "grad_norm")}
