import os

import pytest
import torch

from repro.progress import Progress
from repro.retrieval.training.batch_order import BatchReading
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.loop import train
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.retrieval.training.settings import settings
from tests.retrieval.training.test_parts import FIVE_STEPS, failing


class Heard(Progress):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def trained(folder, *, fails_at=None):
    folder.mkdir(exist_ok=True)
    made, heard = objective("in-batch", dropout=0.3).double(), Heard()
    if fails_at is not None:
        made.represent = failing(made.represent, fails_at)
    how = {"out": folder, "progress": heard, "execution": Execution.of(os.environ)}
    facts = train(made, Texts("in-batch", 10), settings(**FIVE_STEPS), **how)
    return list(made.parameters()), facts, heard.notes


@pytest.mark.parametrize("began", ["1", "0"])
def test_a_training_goes_on_in_the_way_it_began_and_says_that_another_was_wanted(
    tmp_path, monkeypatch, began
):
    other_way = str(1 - int(began))
    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    monkeypatch.setenv("REPRO_PADDING_FREE", began)
    straight, facts, notes = trained(tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", fails_at=4)
    monkeypatch.setenv("REPRO_PADDING_FREE", other_way)
    again, told, heard = trained(tmp_path / "killed")
    assert all(map(torch.equal, again, straight))
    if began == "1":
        other, _, _ = trained(tmp_path / "other")
        assert not all(map(torch.equal, other, straight))
    assert told["resumed_at"] == 3 and told.get("padding_free") == facts.get("padding_free")
    assert ("padding_free" in facts) == (began == "1") and not notes
    [note] = heard
    assert note.startswith(
        f"this training began with REPRO_PADDING_FREE={began} and continues with it instead of {other_way}"
    )


def test_what_was_used_before_a_checkpoint_counts_behind_it(tmp_path):
    reading = BatchReading(Execution(padding_free=1), None, print, faster=False)
    with reading.applied_to(torch.nn.Linear(1, 1)):
        assert not reading.used
        reading._packing.used = True
        reading.save(tmp_path)
    again = BatchReading(Execution(), tmp_path, print, faster=False)
    with again.applied_to(torch.nn.Linear(1, 1)):
        assert again.used and again.execution.padding_free == 1
