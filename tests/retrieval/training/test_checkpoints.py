import pytest

from repro.retrieval.training.checkpoints import cut_log, last_complete, seal
from repro.store import disk


@pytest.fixture
def checkpoints(tmp_path):
    for step in (3, 6, 12):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights" * step)
        (folder / "optimizer.pt").write_bytes(b"moments" * step)
        seal(folder, steps=20)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_furthest_is_taken_and_the_others_are_removed(checkpoints):
    assert last_complete(checkpoints, steps=20) == checkpoints / "checkpoint-12"
    assert names(checkpoints) == ["checkpoint-12"]


@pytest.mark.parametrize("harm", ["seal", "half a seal", "a byte", "a file"])
def test_one_that_is_damaged_or_was_never_sealed_is_passed_over(checkpoints, harm):
    last = checkpoints / "checkpoint-12"
    if harm == "seal":
        (last / "seal.json").unlink()
    elif harm == "half a seal":
        (last / "seal.json").write_text((last / "seal.json").read_text()[:40])
    elif harm == "a byte":
        (last / "optimizer.pt").write_bytes(b"moments" * 11 + b"moment!")
    else:
        (last / "model.safetensors").unlink()
    assert last_complete(checkpoints, steps=20) == checkpoints / "checkpoint-6"
    assert names(checkpoints) == ["checkpoint-6"]


def test_one_of_a_training_of_another_length_is_not_this_trainings(checkpoints):
    assert last_complete(checkpoints, steps=21) is None
    assert names(checkpoints) == []


def test_no_folder_is_no_checkpoint(tmp_path):
    assert last_complete(tmp_path / "nothing", steps=20) is None


def test_sealing_again_covers_what_changed(checkpoints):
    last = checkpoints / "checkpoint-12"
    (last / "optimizer.pt").write_bytes(b"other")
    seal(last, steps=20)
    assert last_complete(checkpoints, steps=20) == last


def test_a_log_that_is_cut_when_its_attempt_is_killed_keeps_its_lines(tmp_path, monkeypatch):
    log = tmp_path / "train_log.jsonl"
    lines = [f'{{"step": {step}}}\n' for step in range(1, 7)]
    log.write_text("".join(lines))

    def killed(new):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(disk, "sync", killed)
        cut_log(log, 4)
    assert log.read_text() == "".join(lines)
    cut_log(log, 4)
    assert log.read_text() == "".join(lines[:4])
    assert names(tmp_path) == [log.name]
