"""Training of an objective, with a log and checkpoints to resume from.

A resumed training ends with the same bits on a CPU.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
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
from repro.retrieval.nn import padding_free, precision, tokens
from repro.retrieval.nn.batches import release_memory
from repro.retrieval.training import batch_order, checkpoints, declaration, flop_count, optimizer, parts
from repro.retrieval.training import process_group as group
from repro.retrieval.training.objective import as_objective
from repro.store.disk import CHECKPOINTS

Batch = dict[str, torch.Tensor]
LOG = "train_log.jsonl"
AHEAD = 8  # batches made at once without a GPU


class ObjectiveTrainer:
    """Minimises the sum of an objective's losses and logs each of them."""

    def __init__(
        self,
        objective: nn.Module,
        examples,
        optimisation: declaration.Optimisation,
        order,
        *,
        out: Path,
        resumed: Path | None,
        reading: batch_order.BatchReading,
    ):
        set_seed(optimisation.seed)
        if group.processes() > 1:  # different dropout in each
            torch.manual_seed(optimisation.seed + group.rank())
        self.device = precision.device()
        self.model, self.examples, self.order = objective.to(self.device), examples, order
        self.objective = as_objective(objective)
        cut = getattr(objective, "cut", None)
        self.parts = parts.Parts(self.objective.collate, reading.execution, cut)
        self.optimizer = optimizer.Optimizer(objective, optimisation, steps=len(order))
        self.flops = flop_count.Flops()
        self.reading = reading
        self.resumed, self.step = resumed, checkpoints.step_of(resumed) if resumed else 0
        self.resumed_at = self.step
        self.log = checkpoints.TrainingLog(out / LOG, steps=len(order))
        every = reading.execution.save_steps
        self.checkpoints = checkpoints.Checkpoints(out / CHECKPOINTS, every, steps=len(order))
        self._losses: Batch = {}

    def run(self, advance: Callable[[int], None]) -> None:
        advance(self.resumed_at)
        if self.resumed:
            checkpoint = self.resumed
            checkpoints.read_state(self.model, self.optimizer, checkpoint)
            self.log.load(checkpoint, self.device)
            self.flops.load(checkpoint)
            self.parts.load(checkpoint)
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
        if self.step == len(self.order):
            return
        gpu = self.device.type == "cuda"
        loader = DataLoader(
            self.examples,
            batch_sampler=islice(self.order, self.step, None),
            collate_fn=self.parts,
            num_workers=parts.collating_processes(gpu=gpu),
            pin_memory=gpu,
            worker_init_fn=_one_thread,
        )
        batches = iter(loader)  # draws from torch's generator
        if self.resumed:
            checkpoints.restore_generators(self.resumed)
        while chunk := list(islice(batches, 1 if gpu else AHEAD)):
            yield from chunk

    def training_step(self, pieces: list[Batch]) -> torch.Tensor:
        """Return the loss of a batch and leave its gradient with the parameters.

        If memory runs out, the step is repeated in smaller parts, from the same random state.
        """
        state = parts.random_state(self.device)
        while True:
            if len(pieces) < self.parts.count(self.order.shares(self.step)[group.rank()]):
                pieces = self.parts(self.examples.__getitems__(self.order.at(self.step)))
            in_parts = len(pieces) > 1 or group.processes() > 1
            try:
                with self.flops.step():
                    return self.step_in_parts(pieces) if in_parts else self.whole_step(pieces[0])
            except group.OutOfMemory as error:
                reason = str(error)
            self.optimizer.forget()
            release_memory()
            parts.restore_random_state(state, self.device)
            self.parts.reduce(max(self.order.shares(self.step)), step=self.step + 1, why=reason)

    def whole_step(self, batch: Batch) -> torch.Tensor:
        return group.in_memory(lambda: self.compute_loss(precision.on_device(batch)), self.device)

    def step_in_parts(self, pieces: list[Batch]) -> torch.Tensor:
        pieces = group.in_memory(lambda: list(map(precision.on_device, pieces)), self.device)
        backward, autocast = self.optimizer.backward, self.optimizer.autocast
        self._losses = parts.backward_in_parts(self.objective, pieces, backward=backward, autocast=autocast)
        if not self._losses:
            self.optimizer.backward(_zero_loss(self.model))
        return sum(self._losses.values(), torch.zeros((), device=self.device)).detach()

    def compute_loss(self, batch: Batch) -> torch.Tensor:
        with self.optimizer.autocast():
            losses = parts.in_single_precision(self.model(batch))
        self._losses = {name: loss.detach() for name, loss in losses.items()}
        loss = reduce(add, losses.values()) if losses else _zero_loss(self.model)
        self.optimizer.backward(loss)
        return loss.detach()

    def _write(self, folder: Path) -> None:
        checkpoints.write_state(self.model, self.optimizer, folder)
        if group.rank() == 0:
            self.log.save(folder)
            self.flops.save(folder)
            self.parts.save(folder)
            self.reading.save(folder)


def _one_thread(worker: int) -> None:
    # A forked tokeniser would wait for its parent.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _zero_loss(model: nn.Module) -> torch.Tensor:
    # with a graph, for a batch without a loss
    return next(model.parameters()).sum() * 0


class Examples(Protocol):
    """Rows to train on, fetched by (epoch, index)."""

    def __len__(self) -> int: ...

    def __getitems__(self, places: list[batch_order.Place]) -> list[dict]: ...


def train(
    objective: nn.Module,
    examples: Examples,
    optimisation: declaration.Optimisation,
    *,
    out: Path,
    progress: Progress,
    execution: declaration.Execution = declaration.WHOLE_BATCHES,
    memory: declaration.StepMemory | None = None,
) -> dict:
    """Train an objective in place, minimising the sum of its losses.

    ``out/checkpoints`` keeps checkpoints to resume from. ``out/train_log.jsonl`` gets about 200 lines with
    step, learning rate, gradient norm and mean losses. Under torchrun every process takes its share of each
    batch. If memory runs out, steps are made in smaller parts. On a GPU ``memory`` gives the first size.

    Returns facts, e.g. steps, last losses, seconds, operations and ``options_in_effect``. Raises StageError
    if a loss is not finite or one example does not fit, and UsageError for more processes than examples.
    """
    start, steps, log = time.monotonic(), optimisation.steps(len(examples)), out / LOG
    group.join_others()
    share = {"rank": group.rank(), "processes": group.processes(), "seed": optimisation.seed}
    order = batch_order.BatchOrder(len(examples), batch_size=optimisation.batch_size, steps=steps, **share)
    checkpoint = _last_checkpoint(out / CHECKPOINTS, steps)
    bar = progress if group.rank() == 0 else SILENT
    faster = padding_free.trains_faster(objective, optimisation.precision)
    reading = batch_order.BatchReading(execution, checkpoint, bar.note, faster=faster)
    largest = max(order.shares(0))
    reading.execution = parts.with_estimated_micro_batch(reading.execution, memory, share=largest)
    trainer = ObjectiveTrainer(
        objective, examples, optimisation, order, out=out, resumed=checkpoint, reading=reading
    )
    with (
        bar.task("training", total=steps, log=log) as advance,
        precision.threads_for(objective),
        precision.true_float32(),
        tokens.tokens_remembered(),
        freed_memory_kept(),
        reading.applied_to(objective),
    ):
        trainer.run(advance)
    group.everybody_waits()
    seconds = round(time.monotonic() - start, 1)
    epochs = steps * optimisation.batch_size / len(examples)
    line = json.loads(log.read_text().splitlines()[-1])
    losses = {k: v for k, v in line.items() if k not in ("step", "learning_rate", "grad_norm")}
    facts: dict = {"steps": steps, "epochs": epochs, "examples": len(examples), "losses": losses}
    group.everybody_waits()
    facts |= {"seconds": seconds} | trainer.flops.facts(steps * group.processes())
    return facts | options_in_effect(trainer)


def save_model(objective: nn.Module, out: Path) -> None:
    if group.rank() == 0:
        as_objective(objective).save(out / "model")


def options_in_effect(trainer: ObjectiveTrainer) -> dict[str, int | str]:
    options = {"resumed_at": trainer.resumed_at, "padding_free": int(trainer.reading.used)}
    options["skipped_steps"] = trainer.optimizer.skipped(trainer.step)
    return trainer.parts.facts() | {name: value for name, value in options.items() if value}


def _last_checkpoint(folder: Path, steps: int) -> Path | None:
    if group.rank() > 0:
        group.everybody_waits()  # rank 0 removes damaged ones
    checkpoint = checkpoints.last_complete(folder, steps=steps)
    if group.rank() == 0:
        group.everybody_waits()
    return checkpoint
