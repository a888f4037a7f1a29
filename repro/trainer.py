"""A thin subclass of transformers.Trainer for objectives that return named losses."""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from repro.checkpoints import seal, step_of
from repro.errors import StageError
from repro.flops import Flops
from repro.schedules import SCHEDULES

CHECKPOINT_SECONDS = 600
# processes that make batches; a CPU that trains has no core to spare for them
WORKERS = {"cpu": 0, "cuda": 4}
LOG_LINES = 200


def arguments(settings, checkpoints: Path, *, steps: int) -> TrainingArguments:
    """HF's arguments for ``repro.train.Settings``; saving and reporting are left to our own callbacks."""
    gpu = torch.cuda.is_available()
    made = TrainingArguments(
        output_dir=str(checkpoints),
        per_device_train_batch_size=settings.batch_size,
        max_steps=steps,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant" if settings.schedule in SCHEDULES else settings.schedule,
        warmup_steps=settings.warmup(steps),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        seed=settings.seed,
        fp16=settings.precision == "fp16",
        bf16=settings.precision == "bf16",
        use_cpu=not gpu,
        dataloader_num_workers=WORKERS["cuda" if gpu else "cpu"],
        dataloader_pin_memory=gpu,
        remove_unused_columns=False,
        save_strategy="no",
        save_total_limit=2,  # the one being written and the complete one before it
        logging_steps=max(1, steps // LOG_LINES),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
    )
    made._n_gpu = min(
        made.n_gpu, 1
    )  # else HF splits the batch, and with it the in-batch negatives, over all GPUs
    return made


class ObjectiveTrainer(Trainer):
    """Minimises the sum of an objective's losses and logs each of them.

    Args:
        objective, args, examples, order: see ``repro.train``.
        log: JSON lines; those past the resumed step are cut off.
        resumed: a complete checkpoint to go on from, or None.
        save_steps: steps between checkpoints; None for one every ten minutes.
        schedule: of ``repro.train.Settings``; one that HF does not know is of ``repro.schedules``.
    """

    def __init__(
        self, objective, args, examples, order, *,
        log: Path, resumed: Path | None, save_steps: int | None, schedule: str,
    ):  # fmt: skip
        super().__init__(objective, args, data_collator=objective.collate, train_dataset=examples)
        self.remove_callback(PrinterCallback)
        self.order, self.log_path, self.resumed, self.schedule = order, log, resumed, schedule
        self.add_callback(_Checkpoints(save_steps))
        self.resumed_at = step_of(resumed) if resumed else 0
        self.flops = Flops()
        self._sums: dict[str, torch.Tensor] = defaultdict(lambda: torch.zeros((), device=args.device))
        self._counts: dict[str, int] = defaultdict(int)

    def run(self, advance: Callable[[int], None]) -> None:
        """Train to the end; ``advance`` hears of every step."""
        _cut_log(self.log_path, self.resumed_at)
        advance(self.resumed_at)
        self.add_callback(_Steps(advance))
        self.train(resume_from_checkpoint=str(self.resumed) if self.resumed else None)

    def get_train_dataloader(self) -> DataLoader:
        """The whole training as one pass over ``order``."""
        loader = DataLoader(
            self.train_dataset,
            batch_sampler=self.order,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            worker_init_fn=_one_thread,
        )
        return self.accelerator.prepare(loader)

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        """The learning rate's course: ours where HF has none of that name."""
        if self.schedule in SCHEDULES and self.lr_scheduler is None:
            made, warmup = SCHEDULES[self.schedule], int(self.args.warmup_steps)
            self.lr_scheduler = made(optimizer or self.optimizer, warmup=warmup, total=num_training_steps)
        return super().create_scheduler(num_training_steps, optimizer)

    def training_step(self, *args, **kwargs):
        """HF's step, its operations counted while it is one of the first."""
        with self.flops.step():
            return super().training_step(*args, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The sum of the losses; each is added to what the next log line is a mean of."""
        losses = model(inputs)
        if not losses:  # a last small batch may have nothing to learn from; zero still needs a graph
            return next(model.parameters()).sum() * 0
        for name, loss in losses.items():
            self._sums[name] += loss.detach()
            self._counts[name] += 1
        total = sum(losses.values())
        return (total, losses) if return_outputs else total

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """One line of ``train_log.jsonl``; HF's closing summary of the run is not one."""
        if "loss" not in logs:
            return
        means = {name: (self._sums[name] / self._counts[name]).item() for name in self._sums}
        self._sums.clear()
        self._counts.clear()
        line = {
            "step": self.state.global_step,
            "learning_rate": logs["learning_rate"],
            "loss": logs["loss"],
            **means,
        }
        if logs.get("grad_norm") is not None and math.isfinite(logs["grad_norm"]):
            # fp16 skips a step whose gradient overflowed: no norm there
            line["grad_norm"] = logs["grad_norm"]
        if not all(math.isfinite(value) for value in (logs["loss"], *means.values())):
            shown = ", ".join(f"{name} {value}" for name, value in means.items())
            raise StageError(f"the loss is not finite at step {self.state.global_step} ({shown})")
        with open(self.log_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        # HF would pickle its arguments beside the weights, and cannot write weights that share memory.
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        save_model(self.model, str(Path(output_dir) / "model.safetensors"))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        load_model(
            self.model, str(Path(resume_from_checkpoint) / "model.safetensors"), device=str(self.args.device)
        )


class _Checkpoints(TrainerCallback):
    """Asks for a checkpoint when one is due, and seals it once it is written."""

    def __init__(self, save_steps: int | None):
        self.save_steps = save_steps
        self.saved = time.monotonic()

    def on_step_end(self, args, state, control, **kwargs):
        if self.save_steps is None:
            due = time.monotonic() - self.saved > CHECKPOINT_SECONDS
        else:
            due = state.global_step % self.save_steps == 0
        control.should_save = due and state.global_step < state.max_steps
        return control

    def on_save(self, args, state, control, **kwargs):
        seal(Path(args.output_dir) / f"checkpoint-{state.global_step}", steps=state.max_steps)
        self.saved = time.monotonic()


class _Steps(TrainerCallback):
    """Passes every step on."""

    def __init__(self, advance: Callable[[int], None]):
        self.advance = advance

    def on_step_end(self, args, state, control, **kwargs):
        self.advance(1)


def _one_thread(worker: int) -> None:
    # A forked tokeniser that was used before waits for threads which exist in its parent only.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _cut_log(path: Path, step: int) -> None:
    """Keep the log's lines up to a step; what an interrupted attempt wrote after it is written again."""
    kept = []
    if step and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["step"] > step:
                    break
            except ValueError:  # the attempt was killed while it wrote this line
                break
            kept.append(line + "\n")
    path.write_text("".join(kept), encoding="utf-8")
