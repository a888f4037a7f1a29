import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.training import parts
from repro.retrieval.training.batch_order import BatchOrder
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.loop import train
from repro.retrieval.training.parts import collating_processes
from repro.retrieval.training.process_group import rank
from tests.floats import close
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.retrieval.training.settings import log_of, settings


@pytest.mark.parametrize(
    "cores, local, wanted",
    [(16, None, 15), (16, 4, 3), (1, None, 1), (8, 8, 1), (192, None, 16), (192, 8, 16)],
)
def test_a_training_on_a_gpu_leaves_its_other_cores_to_batches(monkeypatch, cores, local, wanted):
    monkeypatch.setattr(parts, "cores", lambda: cores)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if local:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
    assert collating_processes(gpu=True) == wanted
    assert collating_processes(gpu=False) == 0


NAMES = ("mlm", "contrast", "in-batch", "four blocks", "distillation")
FIVE_STEPS = {"max_steps": 5, "learning_rate": 0.001, "warmup_ratio": 0.2, "weight_decay": 0.01}


def trained(name: str, out: Path, *, dropout=0.0, fails_at=None):
    out.mkdir(exist_ok=True)
    made = objective(name, dropout=dropout).double()
    if fails_at is not None:
        method = "represent" if hasattr(made, "represent") else "denominators"
        setattr(made, method, failing(getattr(made, method), fails_at))
    how = {"out": out, "progress": Progress(), "execution": Execution.of(os.environ)}
    return made, train(made, Texts(name, 10), settings(**FIVE_STEPS), **how)


def failing(function, at: int):
    calls = []

    def called(batch):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return function(batch)

    return called


def weights(made) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in made.state_dict().items()}


def two(folder: Path) -> None:
    os.environ["REPRO_SAVE_STEPS"] = "2"
    for name in NAMES:
        made, facts = trained(name, folder / name)
        np.savez(folder / f"{name}-{rank()}.npz", **weights(made))
        (folder / f"{name}-{rank()}.json").write_text(json.dumps(facts))
    for name in ("mlm", "in-batch"):
        straight, _ = trained(name, folder / f"{name} straight", dropout=0.3)
        try:
            trained(name, folder / f"{name} killed", dropout=0.3, fails_at=4)
        except KeyboardInterrupt:
            resumed, facts = trained(name, folder / f"{name} killed", dropout=0.3)
        same = all((weights(resumed)[key] == value).all() for key, value in weights(straight).items())
        other = np.load(folder / f"{name}-{rank()}.npz")
        differs = any((other[key] != value).any() for key, value in weights(straight).items())
        found = {"same": bool(same), "resumed_at": facts["resumed_at"], "dropout matters": bool(differs)}
        (folder / f"{name}-resumed-{rank()}.json").write_text(json.dumps(found))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, in_two_processes):
    folder = tmp_path_factory.mktemp("trained")
    in_two_processes(two, folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_end_with_the_weights_and_log_of_one(shared, tmp_path, name):
    made, facts = trained(name, tmp_path)
    before = weights(objective(name).double())
    assert any(abs(value - before[key]).max() > 1e-4 for key, value in weights(made).items())
    for process in (0, 1):
        found = np.load(shared / f"{name}-{process}.npz")
        close(dict(found), weights(made), dtype="float32")
        told = json.loads((shared / f"{name}-{process}.json").read_text())
        close(told["losses"], facts["losses"], dtype="float32")
        assert told["epochs"] == facts["epochs"] == 2.0
    ours, theirs = log_of(tmp_path), log_of(shared / name)
    assert len(ours) == len(theirs) == 5
    for one, other in zip(ours, theirs, strict=True):
        close(one, other, dtype="float32")
    assert {path.name for path in (shared / name).iterdir()} == {"checkpoints", "train_log.jsonl"}


@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_two_killed_processes_end_with_the_same_bits_as_two_that_were_not(shared, name):
    for process in (0, 1):
        found = json.loads((shared / f"{name}-resumed-{process}.json").read_text())
        assert found == {"same": True, "resumed_at": 2, "dropout matters": True}


@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_a_batch_in_parts_ends_with_the_weights_of_the_whole(tmp_path, monkeypatch, name):
    made, facts = trained(name, tmp_path / "whole")
    monkeypatch.setenv("REPRO_MICRO_BATCH", "3")
    parted, told = trained(name, tmp_path / "parts")
    close(weights(parted), weights(made), dtype="float32")
    close(told["losses"], facts["losses"], dtype="float32")


@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_a_training_in_parts_has_the_precision_that_was_asked_for(tmp_path, monkeypatch, name):
    monkeypatch.setenv("REPRO_MICRO_BATCH", "3")
    monkeypatch.setattr("repro.retrieval.nn.precision.check_precision", str)
    made, types = objective(name), set()
    before = {key: value.clone() for key, value in made.named_parameters()}
    for layer in made.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(lambda layer, given, out: types.add(out.dtype))
    how = {"out": tmp_path, "progress": Progress(), "execution": Execution.of(os.environ)}
    train(made, Texts(name, 10), settings(**FIVE_STEPS, precision="bf16"), **how)
    assert types == {torch.bfloat16}
    stayed = {key for key, value in made.named_parameters() if torch.equal(value, before[key])}
    assert not {key for key in stayed if "layer" in key and "pooler" not in key}


def test_parts_no_smaller_than_the_batch_leave_every_bit_as_it_is(tmp_path, monkeypatch):
    made, _ = trained("in-batch", tmp_path / "whole", dropout=0.3)
    monkeypatch.setenv("REPRO_MICRO_BATCH", "4")
    again, _ = trained("in-batch", tmp_path / "again", dropout=0.3)
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), again.parameters(), strict=True))


def test_a_training_in_parts_that_is_killed_ends_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_MICRO_BATCH", "2")
    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    made, _ = trained("in-batch", tmp_path / "straight", dropout=0.3)
    with pytest.raises(KeyboardInterrupt):
        trained("in-batch", tmp_path / "killed", dropout=0.3, fails_at=8)
    again, facts = trained("in-batch", tmp_path / "killed", dropout=0.3)
    assert facts["resumed_at"] == 1
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize("name", ["in-batch", "mlm"])
def test_a_training_without_padding_ends_with_the_weights_of_the_padded_one(tmp_path, monkeypatch, name):
    monkeypatch.setenv("REPRO_PADDING_FREE", "0")
    made, facts = trained(name, tmp_path / "padded")
    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    again, told = trained(name, tmp_path / "packed")
    close(weights(again), weights(made), dtype="float32")
    close(told["losses"], facts["losses"], dtype="float32")
    assert told["padding_free"] == 1 and "padding_free" not in facts
    assert 0 < told["flops"] < facts["flops"]


@pytest.mark.parametrize(("asked", "packed"), [({}, 1), ({"REPRO_PADDING_FREE": "0"}, None)])
def test_models_train_without_padding_unless_another_way_is_asked_for(tmp_path, monkeypatch, asked, packed):
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert trained("mlm", tmp_path)[1].get("padding_free") == packed


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("REPRO_SAVE_STEPS", "0", ". Set a number of steps"),
        ("REPRO_SAVE_STEPS", "often", ". Set a number of steps"),
        ("REPRO_MICRO_BATCH", "some", ". Set a number of examples"),
        ("REPRO_PADDING_FREE", "2", ", but must be 1 .no padding., 0 .padding. or unset"),
    ],
)
def test_an_option_of_another_value_is_refused(variable, value, wanted):
    with pytest.raises(UsageError, match=f"{variable} is '{value}'{wanted}"):
        Execution.of({variable: value})


def test_the_shares_of_a_batch_are_the_batch_in_its_order():
    whole = list(BatchOrder(10, batch_size=4, steps=6, seed=1))
    shares = [list(BatchOrder(10, batch_size=4, steps=6, seed=1, rank=r, processes=2)) for r in (0, 1)]
    assert [a + b for a, b in zip(*shares, strict=True)] == whole
    assert [len(batch) for batch in shares[0]] == [2, 2, 1, 2, 2, 1]


def test_a_batch_of_fewer_examples_than_processes_is_refused():
    with pytest.raises(UsageError, match="a batch of 1 of the 9 examples cannot be shared among 2 processes"):
        BatchOrder(9, batch_size=4, steps=3, seed=1, rank=0, processes=2)


def test_a_small_batch_that_is_never_come_to_refuses_nothing():
    reached = list(BatchOrder(9, batch_size=4, steps=2, seed=1, rank=1, processes=2))
    assert [len(batch) for batch in reached] == [2, 2]
    with pytest.raises(UsageError, match="a batch of 1 of the 1 examples"):
        BatchOrder(1, batch_size=4, steps=1, seed=1, rank=1, processes=2)
