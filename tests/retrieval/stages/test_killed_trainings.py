import errno
import os

import numpy as np
import pytest

from repro.retrieval.stages import finetune, pretrain
from repro.retrieval.training import checkpoints
from repro.retrieval.training.loop import ObjectiveTrainer
from repro.retrieval.training.objective import import_declared
from tests.killed import KILLS, MODEL, bytes_of
from tests.retrieval.stages import test_finetune, test_pretrain
from tests.retrieval.stages.conftest import folders

STEPS, SAVED = 10, 3
SEED = int(os.environ.get("REPRO_TEST_SEED", 2022))  # give another to try other steps
CONTRAST = {"objective": test_pretrain.CONTRAST, "options": test_pretrain.OPTIONS}


@pytest.fixture
def trainings(model, tokens, judged_training):
    texts = {"model": model, "tokens": tokens}
    return {
        "mlm": (pretrain, test_pretrain.params(max_steps=STEPS), texts),
        "contrast": (pretrain, test_pretrain.params(max_steps=STEPS, **CONTRAST), texts),
        "finetune": (finetune, test_finetune.params(max_steps=STEPS, epochs=None), judged_training),
    }


def kill(patch, step: int, moment: str) -> None:
    """Let the next attempt die in a step: before its loss, after its gradient, or as it is being saved."""
    compute_loss, training_step = ObjectiveTrainer.compute_loss, ObjectiveTrainer.training_step

    def dies_before(self, *arguments, **named):
        if self.step + 1 == step:
            raise KeyboardInterrupt
        return compute_loss(self, *arguments, **named)

    def dies_after(self, *arguments, **named):
        loss = training_step(self, *arguments, **named)
        if self.step + 1 == step:
            raise KeyboardInterrupt
        return loss

    def dies_unsealed(checkpoint, *, steps):
        if checkpoint.name == f"checkpoint-{step}":
            raise KeyboardInterrupt
        seal(checkpoint, steps=steps)

    seal = checkpoints.seal
    if moment == "before its loss":
        patch.setattr(ObjectiveTrainer, "compute_loss", dies_before)
    elif moment == "after its gradient":
        patch.setattr(ObjectiveTrainer, "training_step", dies_after)
    else:
        patch.setattr(checkpoints, "seal", dies_unsealed)


@pytest.mark.parametrize(
    ("name", "packed"), [("mlm", 0), ("contrast", 0), ("finetune", 0), ("mlm", 1), ("finetune", 1)]
)
def test_a_training_killed_at_random_steps_ends_with_the_same_bytes(
    trainings, name, packed, tmp_path, progress, monkeypatch
):
    stage, params, inputs = trainings[name]
    monkeypatch.setenv("REPRO_SAVE_STEPS", str(SAVED))
    monkeypatch.setenv("REPRO_PADDING_FREE", str(packed))
    straight, killed = folders(tmp_path, "straight", "killed")
    facts = stage.run(params, inputs, straight, progress)
    generator = np.random.default_rng(SEED)
    steps = sorted(generator.choice(np.arange(1, STEPS + 1), KILLS, replace=False).tolist())
    for step in steps:
        moments = ["before its loss", "after its gradient"]
        moment = "unsealed" if step % SAVED == 0 else moments[generator.integers(2)]
        print(f"seed {SEED}: {name} killed in step {step}, {moment}")
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            kill(patch, step, moment)
            stage.run(params, inputs, killed, progress)
        last, kept = (step - 1) // SAVED * SAVED, list((killed / "checkpoints").glob("checkpoint-*"))
        assert len(kept) <= 2
        assert last == 0 or (killed / f"checkpoints/checkpoint-{last}/seal.json").exists()
    again = stage.run(params, inputs, killed, progress)
    assert again["resumed_at"] == (steps[-1] - 1) // SAVED * SAVED
    assert again["losses"] == facts["losses"] and again["steps"] == STEPS
    assert again.get("padding_free", 0) == facts.get("padding_free", 0) == packed
    assert bytes_of(killed / "model") == bytes_of(straight / "model")
    assert (killed / MODEL).read_bytes() != (inputs["model"] / MODEL).read_bytes()
    assert (killed / "train_log.jsonl").read_text() == (straight / "train_log.jsonl").read_text()


@pytest.mark.parametrize("name", ["mlm", "finetune"])
def test_a_model_that_could_not_be_saved_is_saved_without_another_step(
    trainings, name, tmp_path, progress, monkeypatch
):
    stage, params, inputs = trainings[name]
    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    straight, failed = folders(tmp_path, "straight", "failed")
    facts = stage.run(params, inputs, straight, progress)
    assert "resumed_at" not in facts
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(import_declared("objective", params["objective"]), "save", full_disk)
        stage.run(params, inputs, failed, progress)
    again = stage.run(params, inputs, failed, progress)
    assert again["resumed_at"] == STEPS
    assert all(again[key] == facts[key] for key in ("losses", "flops", "padding_free"))
    assert bytes_of(failed / "model") == bytes_of(straight / "model")
    assert stage.run(params, inputs, failed, progress)["resumed_at"] == STEPS  # as if killed while sealed
    assert bytes_of(failed / "model") == bytes_of(straight / "model")


def full_disk(objective, folder) -> None:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half of")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
