"""A thin subclass of transformers.Trainer for objectives that return named losses."""

import json
import math
import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainingArguments

from repro.errors import StageError
from repro.nn.memory import free_memory
from repro.training.checkpoints import Checkpoints, Steps, cut_log, step_of
from repro.training.collation import collating_processes
from repro.training.fitting import Fitting
from repro.training.flop_count import Flops
from repro.training.micro_batches import backward_in_parts, random_state, restore_random_state
from repro.training.objective import SumObjective
from repro.training.optimisation import Execution, Optimisation
from repro.training.parts import are_texts
from repro.training.process_group import OutOfMemory, in_memory, processes, rank, sum_gradients
from repro.training.schedules import SCHEDULES

LOG_LINES = 200


def arguments(optimisation: Optimisation, checkpoints: Path, *, steps: int) -> TrainingArguments:
    """HF's arguments for an optimisation; saving and reporting are left to our own callbacks."""
    gpu = torch.cuda.is_available()
    made = TrainingArguments(
        output_dir=str(checkpoints),
        per_device_train_batch_size=optimisation.batch_size,
        max_steps=steps,
        learning_rate=optimisation.learning_rate,
        lr_scheduler_type="constant" if optimisation.schedule in SCHEDULES else optimisation.schedule,
        warmup_steps=optimisation.warmup(steps),
        weight_decay=optimisation.weight_decay,
        max_grad_norm=optimisation.max_grad_norm,
        seed=optimisation.seed,
        fp16=optimisation.precision == "fp16",
        bf16=optimisation.precision == "bf16",
        use_cpu=not gpu,
        dataloader_num_workers=collating_processes(gpu=gpu),
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
    # else HF splits the batch, and with it the in-batch negatives, over all GPUs
    made._n_gpu = min(made.n_gpu, 1)
    return made


class ObjectiveTrainer(Trainer):
    """Minimises the sum of an objective's losses and logs each of them.

    Args:
        objective, args, examples, order: see ``repro.training.loop``.
        log: JSON lines; those past the resumed step are cut off.
        resumed: a complete checkpoint to go on from, or None.
        schedule: of the optimisation; one that HF does not know is of ``repro.training.schedules``.
        execution: says in how many parts a batch is made; every batch comes as a list of its parts.
    """

    def __init__(
        self,
        objective,
        args,
        examples,
        order,
        *,
        log: Path,
        resumed: Path | None,
        schedule: str,
        execution: Execution,
    ):
        self.buckets = execution.length_buckets
        if self.buckets > 1:  # parts cost more than the batch where an objective encodes them twice
            by_length = isinstance(objective, SumObjective) and are_texts(examples.__getitems__([(0, 0)]))
            self.buckets = self.buckets if by_length else 1
        self.fitting = Fitting(objective.collate, execution, buckets=self.buckets)
        super().__init__(objective, args, data_collator=self.fitting.parts, train_dataset=examples)
        self.remove_callback(PrinterCallback)
        if processes() > 1:  # gradients are summed by ``training_step``, so the model is left unwrapped
            self.accelerator.prepare_model = partial(self.accelerator.prepare_model, evaluation_mode=True)
            torch.manual_seed(args.seed + rank())  # else every process drops out the same places
        self.order, self.log_path, self.resumed, self.schedule = order, log, resumed, schedule
        self.add_callback(Checkpoints(execution.save_steps))
        self.resumed_at = step_of(resumed) if resumed else 0
        self.flops = Flops()
        self._sums: dict[str, torch.Tensor] = defaultdict(lambda: torch.zeros((), device=args.device))
        self._counts: dict[str, int] = defaultdict(int)
        self._losses: dict[str, torch.Tensor] = {}  # of the step that is being made

    def run(self, advance: Callable[[int], None]) -> None:
        """Train to the end; ``advance`` hears of every step."""
        if rank() == 0:
            cut_log(self.log_path, self.resumed_at)
        advance(self.resumed_at)
        self.add_callback(Steps(advance))
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
        # ``order`` has been shared among several processes already
        return loader if processes() > 1 else self.accelerator.prepare(loader)

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        """The learning rate's course: ours where HF has none of that name."""
        if self.schedule in SCHEDULES and self.lr_scheduler is None:
            made, warmup = SCHEDULES[self.schedule], int(self.args.warmup_steps)
            self.lr_scheduler = made(optimizer or self.optimizer, warmup=warmup, total=num_training_steps)
        return super().create_scheduler(num_training_steps, optimizer)

    def training_step(self, model, inputs, num_items_in_batch=None):
        """HF's step, its operations counted while it is one of the first; in parts where it has to be.

        Where memory runs out, the same step is made again in parts half as large, with what is drawn from
        torch's generator from the start. Batches that were prepared in larger parts are collated again.
        """
        number, state = self.state.global_step, random_state(self.args.device)
        while True:
            pieces = self._cut(inputs, number)
            try:
                with self.flops.step():
                    loss = self._step(model, pieces, num_items_in_batch)
                self._note(self._losses)
                return loss
            except OutOfMemory as error:
                why = str(error)
            for parameter in model.parameters():
                parameter.grad = None
            free_memory()
            restore_random_state(state, self.args.device)
            self.fitting.reduce(max(self.order.shares(number)), step=number + 1, why=why)

    def _cut(self, pieces: list[dict], step: int) -> list[dict]:
        """The parts of a batch, those that it came in unless these are too large by now."""
        if len(pieces) >= self.fitting.parts.count(self.order.shares(step)[rank()]):
            return pieces
        return self.fitting.parts(self.train_dataset.__getitems__(self.order.at(step)))

    def _step(self, model, pieces: list[dict], num_items_in_batch) -> torch.Tensor:
        if len(pieces) > 1 or processes() > 1:
            return self.step_in_parts(model, pieces)
        whole = super().training_step
        return in_memory(lambda: whole(model, pieces[0], num_items_in_batch), self.args.device)

    def step_in_parts(self, model, pieces: list[dict]) -> torch.Tensor:
        """The loss of the whole batch; its gradient is left with every process's parameters."""
        model.train()
        pieces, accelerator = self._prepare_inputs(pieces), self.accelerator
        losses = backward_in_parts(
            model, pieces, backward=accelerator.backward, autocast=accelerator.autocast
        )
        if not losses:
            self.accelerator.backward(_nothing(model))
        sum_gradients(model.parameters())
        self._losses = losses
        return sum(losses.values(), torch.zeros((), device=self.args.device)).detach()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The sum of the losses, which are kept for the next line of the log."""
        losses = model(inputs)
        self._losses = {name: loss.detach() for name, loss in losses.items()}
        if not losses:
            return _nothing(model)
        total = sum(losses.values())
        return (total, losses) if return_outputs else total

    def _note(self, losses: dict[str, torch.Tensor]) -> None:
        for name, loss in losses.items():
            self._sums[name] += loss
            self._counts[name] += 1

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """One line of ``train_log.jsonl``; HF's closing summary of the run is not one."""
        if "loss" not in logs:
            return
        means = {name: (self._sums[name] / self._counts[name]).item() for name in self._sums}
        self._sums.clear()
        self._counts.clear()
        line = {"step": self.state.global_step, "learning_rate": logs["learning_rate"], "loss": logs["loss"]}
        line |= means
        if logs.get("grad_norm") is not None and math.isfinite(logs["grad_norm"]):
            # fp16 skips a step whose gradient overflowed: no norm there
            line["grad_norm"] = logs["grad_norm"]
        if not all(math.isfinite(value) for value in (logs["loss"], *means.values())):
            shown = ", ".join(f"{name} {value}" for name, value in means.items())
            raise StageError(f"the loss is not finite at step {self.state.global_step} ({shown})")
        if rank() == 0:
            with open(self.log_path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        # HF would pickle its arguments beside the weights, and cannot write weights that share memory.
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        save_model(self.model, str(Path(output_dir) / "model.safetensors"))
        (Path(output_dir) / "flops.json").write_text(json.dumps(self.flops.counted))
        self.fitting.save(Path(output_dir))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        device = self.args.device
        device = "cpu" if device.type == "cpu" else str(device)  # safetensors knows no cpu:0
        load_model(self.model, str(Path(resume_from_checkpoint) / "model.safetensors"), device=device)
        if (counted := Path(resume_from_checkpoint) / "flops.json").exists():
            self.flops.counted = json.loads(counted.read_text())
        self.fitting.load(Path(resume_from_checkpoint))


def _one_thread(worker: int) -> None:
    # A forked tokeniser that was used before waits for threads which exist in its parent only.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _nothing(model: torch.nn.Module) -> torch.Tensor:
    # A last small batch may have nothing to learn from; zero still needs a graph.
    return next(model.parameters()).sum() * 0
