import contextlib
import math
import os
import pickle
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from repro.errors import StageError
from repro.progress import Progress
from repro.retrieval.training import checkpoints
from repro.retrieval.training.batch_order import BatchOrder
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.loop import save_model, train
from tests.floats import close
from tests.retrieval.training.settings import log_of, settings


class Regression(nn.Module):
    name = "regression"
    version = 3

    def __init__(self, model=None, tokenizer=None, *, width: int = 8, fails_at: int | None = None):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.second.weight = self.first.weight
        self.fails_at, self.calls = fails_at, 0

    def collate(self, examples):
        drawn = [np.random.default_rng((1, e["epoch"], e["index"])).normal(size=8) for e in examples]
        return {"x": torch.tensor(np.stack(drawn), dtype=torch.float32)}

    def forward(self, batch):
        self.calls += 1
        if self.calls == self.fails_at:
            raise KeyboardInterrupt
        hidden = nn.functional.dropout(self.first(batch["x"]).tanh(), 0.5, self.training)
        out = self.second(hidden)
        return {"square": (out - batch["x"]).square().mean(), "size": 0.1 * out.abs().mean()}

    def denominators(self, batch):
        return {"square": batch["x"].numel(), "size": batch["x"].numel()}

    def save(self, folder):
        torch.save(self.state_dict(), folder)


class Places:
    def __init__(self, count: int):
        self.count = count
        self.seen: list[tuple[int, int]] = []

    def __len__(self):
        return self.count

    def __getitems__(self, places):
        self.seen += places
        return [{"epoch": epoch, "index": index} for epoch, index in places]


def trained(out, *, fails_at=None, examples=20, **changes):
    out.mkdir(exist_ok=True)
    torch.manual_seed(0)
    objective = Regression(fails_at=fails_at)
    how = {"out": out, "progress": Progress(), "execution": Execution.of(os.environ)}
    try:
        facts = train(objective, Places(examples), settings(**changes), **how)
    except KeyboardInterrupt:
        facts = None
    return objective, facts


def weights(objective) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in objective.state_dict().values())


@pytest.mark.parametrize("killed_at", [2, 7, 11, 12])
def test_a_training_killed_at_any_step_ends_with_the_same_bits(tmp_path, monkeypatch, killed_at):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "3")
    straight, facts = trained(tmp_path / "straight")
    killed, nothing = trained(tmp_path / "killed", fails_at=killed_at)
    assert nothing is None and weights(killed) != weights(straight)
    resumed, again = trained(tmp_path / "killed")
    assert weights(resumed) == weights(straight)
    assert log_of(tmp_path / "killed") == log_of(tmp_path / "straight")
    assert again.get("resumed_at", 0) == (killed_at - 1) // 3 * 3
    assert again["losses"] == facts["losses"]


@pytest.mark.parametrize(("steps", "resumed_at"), [("4", 8), (None, 10)])
def test_lines_of_the_log_are_means_of_the_same_steps_when_a_training_is_resumed_between_them(
    tmp_path, monkeypatch, steps, resumed_at
):
    monkeypatch.setattr(checkpoints, "LINES", 2)
    if steps:
        monkeypatch.setenv("REPRO_SAVE_STEPS", steps)
    else:
        monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0)
    straight, facts = trained(tmp_path / "straight")
    trained(tmp_path / "killed", fails_at=11)
    resumed, again = trained(tmp_path / "killed")
    assert again["resumed_at"] == resumed_at and weights(resumed) == weights(straight)
    assert [line["step"] for line in log_of(tmp_path / "straight")] == [6, 12]
    assert log_of(tmp_path / "killed") == log_of(tmp_path / "straight")
    assert again["losses"] == facts["losses"] and again["flops"] == facts["flops"]
    monkeypatch.setattr(checkpoints, "LINES", 12)
    trained(tmp_path / "every step")
    steps = log_of(tmp_path / "every step")
    for line, some in zip(log_of(tmp_path / "straight"), (steps[:6], steps[6:]), strict=True):
        for name in ("loss", "square", "size"):
            close(line[name], np.mean([step[name] for step in some]), dtype="float32")


def test_a_training_that_was_done_is_not_done_again(tmp_path):
    straight, facts = trained(tmp_path)
    resumed, again = trained(tmp_path, fails_at=1)
    assert weights(resumed) == weights(straight) and again["resumed_at"] == 12
    assert all(facts[name] == again[name] for name in ("losses", "flops", "steps"))


def test_a_checkpoint_holds_no_pickled_arguments_and_a_forged_pickle_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "3")
    trained(tmp_path, fails_at=5)
    checkpoint = tmp_path / "checkpoints/checkpoint-3"
    names = {path.name for path in checkpoint.iterdir()}
    states = {"optimizer.pt", "scheduler.pt", "rng_state.pth", "flops.json"}
    reading = {"micro_batch.json", "batch_reading.json", "log.pt"}
    assert names == {"model.safetensors", "seal.json"} | reading | states

    class Forged:
        def __reduce__(self):
            return print, ("executed",)

    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "log.pt"):
        honest = (checkpoint / name).read_bytes()
        torch.save({"x": Forged()}, checkpoint / name)
        checkpoints.seal(checkpoint, steps=12)
        with pytest.raises(pickle.UnpicklingError, match=r"[Ww]eights"):
            trained(tmp_path)
        (checkpoint / name).write_bytes(honest)


def test_the_last_step_is_kept_for_whoever_is_killed_after_the_model_is_saved_and_nothing_is_printed(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "5")
    objective, facts = trained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "train_log.jsonl"]
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"checkpoint-10", "checkpoint-12"}
    objective.save = lambda folder: folder.write_text("saved")
    save_model(objective, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "model", "train_log.jsonl"]
    assert capfd.readouterr().out == ""
    assert facts["steps"] == 12 and facts["examples"] == 20 and facts["epochs"] == 12 * 4 / 20


@pytest.mark.parametrize("schedule", ["logarithmic", "deepspeed-0.6.0"])
def test_a_logarithmic_warm_up_is_what_each_step_is_taken_with_and_is_resumed(
    schedule, tmp_path, monkeypatch
):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "3")
    changes = {"schedule": schedule, "warmup_ratio": None, "warmup_steps": 5}
    straight, _ = trained(tmp_path / "straight", **changes)
    rates = [line["learning_rate"] for line in log_of(tmp_path / "straight")]
    expected = [math.log(step + 1) / math.log(5) for step in range(5)] + [(12 - s) / 7 for s in range(5, 12)]
    expected = expected if schedule == "logarithmic" else [1.0, *expected[:-1]]
    assert rates == pytest.approx([0.01 * share for share in expected])
    trained(tmp_path / "killed", fails_at=8, **changes)
    resumed, facts = trained(tmp_path / "killed", **changes)
    assert facts["resumed_at"] == 6 and weights(resumed) == weights(straight)
    assert log_of(tmp_path / "killed") == log_of(tmp_path / "straight")


def test_a_loss_that_is_not_finite_stops_the_training(tmp_path):
    torch.manual_seed(0)
    objective = Regression()
    nn.init.constant_(objective.first.weight, math.inf)
    with pytest.raises(StageError, match="not finite at step 1"):
        train(objective, Places(20), settings(), out=tmp_path, progress=Progress())


def test_every_epoch_sees_every_example_once_in_its_own_order():
    batches = list(BatchOrder(10, batch_size=4, steps=6, seed=1))
    assert [len(batch) for batch in batches] == [4, 4, 2, 4, 4, 2]
    first, second = ([place for batch in half for place in batch] for half in (batches[:3], batches[3:]))
    assert sorted(first) == [(0, index) for index in range(10)]
    assert sorted(second) == [(1, index) for index in range(10)]
    assert [index for _, index in first] != [index for _, index in second]
    assert list(BatchOrder(10, batch_size=4, steps=5, seed=1)) == batches[:5]
    other = list(BatchOrder(10, batch_size=4, steps=6, seed=2))
    assert other != batches
    begun = [index for batch in other[:3] for _, index in batch]
    assert begun != [index for _, index in second]  # a seed does not begin with what another goes on with


def test_a_batch_without_any_loss_is_stepped_over(tmp_path):
    class Empty(Regression):
        def forward(self, batch):
            return {} if len(batch["x"]) < 4 else super().forward(batch)

    torch.manual_seed(0)
    objective = Empty()
    facts = train(objective, Places(6), settings(max_steps=4), out=tmp_path, progress=Progress())
    assert facts["steps"] == 4


STEPS = 12
torch.set_num_threads(1)  # with more, sums of two equal trainings may differ in their last bit


class Decayed(Regression):
    def __init__(self):
        super().__init__()
        self.norm, self.frozen = nn.LayerNorm(8), nn.Linear(8, 8).requires_grad_(False)

    def forward(self, batch):
        return super().forward({"x": self.frozen(self.norm(batch["x"]))})


def bare(objective: Regression, count: int, optimisation, *, after=contextlib.nullcontext) -> None:
    how = {"batch_size": 4, "steps": STEPS, "seed": optimisation.seed}
    examples, parameters = Places(count), list(objective.parameters())
    batches = [objective.collate(examples.__getitems__(places)) for places in BatchOrder(count, **how)]
    decayed = [p for n, p in objective.named_parameters() if n == "first.weight"]
    others = [p for n, p in objective.named_parameters() if n.endswith("bias") or n.startswith("norm")]
    groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.01, weight_decay=optimisation.weight_decay, fused=True)
    torch.manual_seed(optimisation.seed)
    torch.empty((), dtype=torch.int64).random_()  # as a loader of batches draws when it begins
    for step, batch in enumerate(batches):
        rate = step / 3 if step < 3 else (STEPS - step) / (STEPS - 3)
        with after():
            for group in adamw.param_groups:
                group["lr"] = 0.01 * rate
            sum(objective(batch).values()).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adamw.step()
            objective.zero_grad()


def test_a_training_is_to_the_bit_what_torch_makes_of_its_batches(tmp_path):
    trained, expected = Decayed(), Decayed()
    expected.load_state_dict(trained.state_dict())
    start = weights(trained)
    optimisation = settings(weight_decay=0.1)
    bare(expected, 10, optimisation)
    train(trained, Places(10), optimisation, out=tmp_path, progress=Progress())
    assert weights(trained) == weights(expected) != start


class Calls:
    def __init__(self):
        self.count, self.counts = 0, []

    def _called(self, frame, event, argument):
        self.count += event in ("call", "c_call")

    @contextlib.contextmanager
    def counted(self):
        self.count = 0
        sys.setprofile(self._called)
        yield
        sys.setprofile(None)
        self.counts.append(self.count)

    def advance(self, n: int = 1) -> None:
        sys.setprofile(None)
        self.counts.append(self.count)
        self.count = 0
        sys.setprofile(self._called)


class Steps(Progress):
    def __init__(self, advance):
        self.advance = advance

    @contextlib.contextmanager
    def task(self, name, total=None, *, log=None):
        try:
            yield self.advance
        finally:
            sys.setprofile(None)


def test_a_step_does_little_beside_the_mathematics_of_its_objective(tmp_path):
    calls, bare_calls = Calls(), Calls()
    train(Regression(), Places(20), settings(), out=tmp_path, progress=Steps(calls.advance))
    bare(Regression(), 20, settings(), after=bare_calls.counted)
    a_step, its_bare_step = (np.median(some.counts[6:]) for some in (calls, bare_calls))
    assert 0 < a_step - its_bare_step < 300


READINGS = ("item", "tolist", "cpu", "__bool__", "__float__")  # of a tensor, for which a GPU is waited for


def test_numbers_are_read_from_tensors_only_where_the_log_has_a_line(tmp_path, monkeypatch):
    read: list[str] = []
    for name in READINGS:
        of_torch = getattr(torch.Tensor, name)

        def reading(tensor, *given, of_torch=of_torch, name=name, **more):
            read.append(name)
            return of_torch(tensor, *given, **more)

        monkeypatch.setattr(torch.Tensor, name, reading)
    monkeypatch.setattr(checkpoints, "LINES", 3)
    train(Regression(), Places(10), settings(), out=tmp_path, progress=Progress())
    lines = log_of(tmp_path)
    losses = len(lines[0]) - 4
    assert len(lines) == 3
    seed = 1
    assert read == ["item"] * (seed + 3 * (2 + losses)), Counter(read)
