"""A training stage that is killed and continued, beside the same stage undisturbed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro.progress import Progress
from repro.retrieval.training.loop import ObjectiveTrainer

MODEL = "model/model.safetensors"
KILLS = 10 if os.environ.get("REPRO_SLOW_TESTS") == "1" else 2  # of one training: more of them every night


@contextlib.contextmanager
def killed_in_step(step: int) -> Iterator[None]:
    """A training in this context dies before the loss of a step, counted from its start."""
    calls, compute_loss = [], ObjectiveTrainer.compute_loss

    def dies(self, *arguments, **named):
        calls.append(1)
        if len(calls) == step:
            raise KeyboardInterrupt
        return compute_loss(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ObjectiveTrainer, "compute_loss", dies)
        yield


def check_killed_and_continued(stage, params: dict, inputs: dict, folder: Path, *, step: int = 7) -> dict:
    """Kill and continue ``folder/killed``; it ends as ``folder/straight``. Checkpoints: every third step."""
    straight, killed = folder / "straight", folder / "killed"
    straight.mkdir()
    killed.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPRO_SAVE_STEPS", "3")
        facts = stage.run(params, inputs, straight, Progress())
        with killed_in_step(step):
            stage.run(params, inputs, killed, Progress())
        assert not (killed / "model").exists()
        resumed = stage.run(params, inputs, killed, Progress())
    assert resumed["resumed_at"] == (step - 1) // 3 * 3
    assert resumed["losses"] == facts["losses"]
    assert bytes_of(killed / "model") == bytes_of(straight / "model")
    assert (straight / MODEL).read_bytes() != (inputs["model"] / MODEL).read_bytes()
    return facts


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
