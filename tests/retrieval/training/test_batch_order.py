from __future__ import annotations

import os

import pytest
import torch

from repro.progress import Progress
from repro.retrieval.nn import compiled_layers
from repro.retrieval.training.batch_order import FILE, WAYS, BatchReading
from repro.retrieval.training.checkpoints import seal
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.loop import train
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.retrieval.training.settings import settings
from tests.retrieval.training.test_parts import FIVE_STEPS, failing

VALUES = {"length_buckets": ("2", None), "padding_free": ("1", "0"), "compiled": ("1", None)}


class Heard(Progress):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def trained(folder, *, fails_at=None):
    """A training with dropout: its weights, what it says of itself and what it told meanwhile."""
    folder.mkdir(exist_ok=True)
    made, heard = objective("in-batch", dropout=0.3).double(), Heard()
    if fails_at is not None:
        made.represent = failing(made.represent, fails_at)
    how = {"out": folder, "progress": heard, "execution": Execution.of(os.environ)}
    facts = train(made, Texts("in-batch", 10), settings(**FIVE_STEPS), **how)
    return list(made.parameters()), facts, heard.notes


def doubling(graph, inputs):
    """A compiler whose layers are surely others than those that are not compiled."""
    return lambda *values: tuple(2 * value for value in graph.forward(*values))


def alike(some, others) -> bool:
    return all(map(torch.equal, some, others))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("began_so", [True, False])
def test_a_training_goes_on_in_the_way_it_began_and_tells_that_another_was_asked_for(
    tmp_path, monkeypatch, name, began_so
):
    values = dict(zip((True, False), VALUES[name], strict=True))

    def ask(so: bool) -> None:
        if values[so]:
            monkeypatch.setenv(WAYS[name], values[so])
        else:
            monkeypatch.delenv(WAYS[name], raising=False)

    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    if name == "compiled":
        monkeypatch.setenv("REPRO_PADDING_FREE", "1")
        monkeypatch.setattr(compiled_layers, "BACKEND", doubling)
    ask(began_so)
    straight, facts, notes = trained(tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", fails_at=4)
    ask(not began_so)
    other, _, _ = trained(tmp_path / "other")
    again, told, heard = trained(tmp_path / "killed")
    assert alike(again, straight) and not alike(other, straight)  # dropout falls otherwise
    assert told["resumed_at"] == 3 and told.get(name) == facts.get(name)
    assert (name in facts) == began_so and not notes
    [note] = heard
    default = str(int(getattr(Execution(), name) or 0))
    wanted = (values[began_so] or default, values[not began_so] or default)
    assert note.startswith(f"this training began with {WAYS[name]}={wanted[0]}, not {wanted[1]}, and goes")


def test_a_checkpoint_of_an_earlier_version_is_gone_on_from_as_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, fails_at=4)
    for checkpoint in (tmp_path / "checkpoints").iterdir():
        (checkpoint / FILE).unlink()
        seal(checkpoint, steps=5)
    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    _, facts, notes = trained(tmp_path)
    assert facts["resumed_at"] == 3 and facts["padding_free"] == 1 and not notes


def test_what_was_used_before_a_checkpoint_counts_behind_it(tmp_path):
    reading = BatchReading(Execution(padding_free=1), None, print, faster=False)
    with reading.applied_to(torch.nn.Linear(1, 1)):
        reading._read["padding_free"].used = True
        reading.save(tmp_path)
    again = BatchReading(Execution(padding_free=1), tmp_path, print, faster=False)
    with again.applied_to(torch.nn.Linear(1, 1)):
        assert again.used("padding_free") and not again.used("length_buckets")


def test_a_training_that_has_nothing_to_compile_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_PADDING_FREE", "0")
    monkeypatch.setenv("REPRO_COMPILE", "1")
    _, facts, [note] = trained(tmp_path)
    assert (
        note.startswith("REPRO_COMPILE=1 compiles nothing where texts are padded") and "compiled" not in facts
    )
