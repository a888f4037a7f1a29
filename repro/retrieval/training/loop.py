"""Training of an objective, with an order of examples, a log and checkpoints from which it can go on.

Killed at any step and started again in the same folder, a training ends on a CPU with the same bits.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import reduce
from itertools import islice
from operator import add
from pathlib import Path
from typing import Protocol

import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import set_seed

from repro.machine.system import freed_memory_kept
from repro.progress import SILENT, Progress
from repro.retrieval.nn.batches import release_memory
from repro.retrieval.nn.padding_free import trains_faster
from repro.retrieval.nn.precision import device, on_device, threads_for, true_float32
from repro.retrieval.nn.tokens import tokens_remembered
from repro.retrieval.training.batch_order import BatchOrder, BatchReading, Place
from repro.retrieval.training.checkpoints import (
    Checkpoints,
    TrainingLog,
    last_complete,
    read_state,
    restore_generators,
    step_of,
    write_state,
)
from repro.retrieval.training.declaration import WHOLE_BATCHES, Execution, Optimisation, StepMemory
from repro.retrieval.training.flop_count import Flops
from repro.retrieval.training.objective import as_objective
from repro.retrieval.training.optimizer import Optimizer
from repro.retrieval.training.parts import (
    Fitting,
    backward_in_parts,
    collating_processes,
    in_single_precision,
    random_state,
    restore_random_state,
    with_estimated_micro_batch,
)
from repro.retrieval.training.process_group import (
    OutOfMemory,
    everybody_waits,
    in_memory,
    join_others,
    processes,
    rank,
)
from repro.store.disk import CHECKPOINTS

Batch = dict[str, torch.Tensor]
AHEAD = 8  # batches that are made in one go without a GPU: between two steps each would find cold caches


class ObjectiveTrainer:
    """Minimises the sum of an objective's losses and logs each of them.

    Args:
        objective, examples, optimisation: see ``repro.retrieval.training.loop``.
        order: of the batches; it says how many there are.
        log: JSON lines; those past the resumed step are cut off.
        checkpoints: the folder that they are written into.
        resumed: a complete checkpoint to go on from, or None.
        execution: says in how many parts a batch is made; every batch comes as a list of its parts.
        reading: how their texts are read, which checkpoints keep.

    Attributes:
        step: steps made so far, those before the checkpoint among them.
    """

    def __init__(
        self,
        objective: nn.Module,
        examples,
        optimisation: Optimisation,
        order,
        *,
        log: Path,
        checkpoints: Path,
        resumed: Path | None,
        execution: Execution,
        reading: BatchReading,
    ):
        set_seed(optimisation.seed)
        if processes() > 1:  # else every process drops out the same places
            torch.manual_seed(optimisation.seed + rank())
        self.device = device()
        self.model, self.examples, self.order = objective.to(self.device), examples, order
        self.objective = as_objective(objective)
        self.fitting = Fitting(self.objective.collate, execution)
        self.optimizer = Optimizer(objective, optimisation, steps=len(order))
        self.flops = Flops()
        self.reading = reading
        self.resumed, self.step = resumed, step_of(resumed) if resumed else 0
        self.resumed_at = self.step
        self.log = TrainingLog(log, steps=len(order))
        self.checkpoints = Checkpoints(checkpoints, execution.save_steps, steps=len(order))
        self._losses: Batch = {}  # of the step that is being made

    def run(self, advance: Callable[[int], None]) -> None:
        """Train to the end; ``advance`` hears of every step."""
        advance(self.resumed_at)
        if self.resumed:
            self._go_on_from(self.resumed)
        self.model.train()
        self.optimizer.forget()
        with self.log.open(self.resumed_at):
            for pieces in self._batches():
                loss, rate = self.training_step(pieces), self.optimizer.rate
                norm = self.optimizer.step()
                self.step += 1
                advance(1)
                self.log.note(self.step, loss, self._losses, rate=rate, norm=norm)
                if self.checkpoints.due(self.step, self.device):
                    self.checkpoints.save(self.step, self._write)

    def _batches(self) -> Iterator[list[Batch]]:
        """Yield the batches of ``order`` that are left, in parts."""
        if self.step == len(self.order):
            return
        gpu = self.device.type == "cuda"
        loader = DataLoader(
            self.examples,
            batch_sampler=_RemainingBatches(self.order, self.step),
            collate_fn=self.fitting.parts,
            num_workers=collating_processes(gpu=gpu),
            pin_memory=gpu,
            worker_init_fn=_one_thread,
        )
        batches = iter(loader)  # draws from torch's generator
        if self.resumed:
            restore_generators(self.resumed)
        while chunk := list(islice(batches, 1 if gpu else AHEAD)):
            yield from chunk

    def training_step(self, pieces: list[Batch]) -> torch.Tensor:
        """Return the loss of a batch, whose gradient is left with the parameters; in parts where it has to
        be.

        Its operations are counted while it is one of the first. Where memory runs out, the same step is made
        again in parts half as large, with what is drawn from torch's generator from the start. Batches that
        were prepared in larger parts are collated again.
        """
        state = random_state(self.device)
        while True:
            pieces = self._cut(pieces)
            try:
                with self.flops.step():
                    return self._step(pieces)
            except OutOfMemory as error:
                reason = str(error)
            self.optimizer.forget()
            release_memory()
            restore_random_state(state, self.device)
            self.fitting.reduce(max(self.order.shares(self.step)), step=self.step + 1, why=reason)

    def _cut(self, pieces: list[Batch]) -> list[Batch]:
        """Return the parts of a batch, those that it came in unless these are too large by now."""
        if len(pieces) < self.fitting.parts.count(self.order.shares(self.step)[rank()]):
            pieces = self.fitting.parts(self.examples.__getitems__(self.order.at(self.step)))
        return pieces

    def _step(self, pieces: list[Batch]) -> torch.Tensor:
        if len(pieces) > 1 or processes() > 1:
            return self.step_in_parts(pieces)
        return in_memory(lambda: self._whole(*self._on_device(pieces)), self.device)

    def _on_device(self, pieces: list[Batch]) -> list[Batch]:
        if self.device.type == "cpu":
            return pieces
        return [on_device(piece) for piece in pieces]

    def _whole(self, batch: Batch) -> torch.Tensor:
        loss = self.compute_loss(batch)
        self.optimizer.backward(loss)
        return loss.detach()

    def step_in_parts(self, pieces: list[Batch]) -> torch.Tensor:
        """Return the loss of the whole batch; its gradient is left with every process's parameters."""
        pieces = in_memory(lambda: self._on_device(pieces), self.device)
        backward, autocast = self.optimizer.backward, self.optimizer.autocast
        self._losses = backward_in_parts(self.objective, pieces, backward=backward, autocast=autocast)
        if not self._losses:
            self.optimizer.backward(_zero_loss(self.model))
        return sum(self._losses.values(), torch.zeros((), device=self.device)).detach()

    def compute_loss(self, batch: Batch) -> torch.Tensor:
        """Return the sum of the losses, which are kept for the next line of the log."""
        with self.optimizer.autocast():
            losses = in_single_precision(self.model(batch))
        self._losses = {name: loss.detach() for name, loss in losses.items()}
        return reduce(add, losses.values()) if losses else _zero_loss(self.model)

    def _write(self, folder: Path) -> None:
        write_state(self.model, self.optimizer, folder)
        if rank() == 0:
            self.log.save(folder)
            self.flops.save(folder)
            self.fitting.save(folder)
            self.reading.save(folder)

    def _go_on_from(self, checkpoint: Path) -> None:
        read_state(self.model, self.optimizer, checkpoint)
        self.log.load(checkpoint, self.device)
        self.flops.load(checkpoint)
        self.fitting.load(checkpoint)


class _RemainingBatches:
    """Batches of an order after so many others."""

    def __init__(self, order, start: int):
        self.order, self.done = order, start

    def __iter__(self):
        return islice(self.order, self.done, None)


def _one_thread(worker: int) -> None:
    # A forked tokeniser that was used before waits for threads which exist in its parent only.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _zero_loss(model: nn.Module) -> torch.Tensor:
    # A last small batch may have nothing to learn from; zero still needs a graph.
    return next(model.parameters()).sum() * 0


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

    Checkpoints lie in ``out/checkpoints`` until the artefact is sealed, one of the last step among them; the
    last complete one is where an interrupted training goes on.
    ``out/train_log.jsonl`` gets about 200 lines of step, learning rate, gradient norm and losses (means
    since the line before). Under torchrun every process takes its share of each batch, and all end with the
    same weights; the one of rank 0 writes. A step for which memory does not suffice is made in smaller
    parts, and so are those after it; on a GPU ``memory``, what a step takes, says with which size to begin.
    Batches are read as in the steps before the checkpoint, with or without padding, and ``progress`` says so
    where the other way is wanted.

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
    faster = trains_faster(objective, optimisation.precision)
    reading = BatchReading(execution, checkpoint, bar.note, faster=faster)
    execution = with_estimated_micro_batch(reading.execution, memory, share=max(order.shares(0)))
    trainer = ObjectiveTrainer(
        objective,
        examples,
        optimisation,
        order,
        log=log,
        checkpoints=out / CHECKPOINTS,
        resumed=checkpoint,
        execution=execution,
        reading=reading,
    )
    _run(trainer, bar.task("training", total=steps, log=log))
    everybody_waits()
    seconds = round(time.monotonic() - start, 1)
    facts = _outcome(steps, len(examples), optimisation.batch_size, log) | {"seconds": seconds}
    everybody_waits()  # the first process may now hand the folder on
    facts |= trainer.flops.facts(steps * processes())
    return facts | options_in_effect(trainer, reading)


def _run(trainer: ObjectiveTrainer, task: AbstractContextManager[Callable[[int], None]]) -> None:
    objective = trainer.model
    with (
        task as advance,
        threads_for(objective),
        true_float32(),
        tokens_remembered(),
        freed_memory_kept(),
        trainer.reading.applied_to(objective),
    ):
        trainer.run(advance)


def _outcome(steps: int, examples: int, batch_size: int, log: Path) -> dict:
    epochs = steps * batch_size / examples
    return {"steps": steps, "epochs": epochs, "examples": examples, "losses": _last_losses(log)}


def save_model(objective: nn.Module, out: Path) -> None:
    """Save a trained objective in ``out/model``. Rank 0 does it; its checkpoints go when that is sealed."""
    if rank() == 0:
        as_objective(objective).save(out / "model")


def options_in_effect(trainer: ObjectiveTrainer, reading: BatchReading) -> dict[str, int | str]:
    """Return the batch options that took effect, the step the training resumed from, and the number of steps
    that fp16 skipped, if there are any."""
    options = {
        "resumed_at": trainer.resumed_at,
        "padding_free": int(reading.used),
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
