import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from torch import distributed

from repro.errors import StageError
from repro.graph import Node
from repro.running.engines import inline
from repro.running.engines.child import command, import_path
from repro.store import Store
from tests.floats import close
from tests.retrieval.stages import test_pretrain

LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
connected = pytest.mark.skipif(
    not (distributed.is_available() and distributed.is_gloo_available()),
    reason="this torch has no gloo, by which processes on a CPU reach one another",
)


def prepared(folder: Path, model: Path, tokens: Path) -> tuple[Store, Node]:
    store = Store(folder / "store")
    start, rows = Node("backbone", {"name": "tiny"}), Node("tokenize", {"length": 24})
    config = json.loads((model / "model/config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

    def without_dropout(directory: Path) -> None:
        shutil.copytree(model, directory, dirs_exist_ok=True)
        (directory / "model/config.json").write_text(json.dumps(config))

    store.build(start, without_dropout)
    store.build(rows, lambda out: shutil.copytree(tokens, out, dirs_exist_ok=True) and None)
    node = Node("pretrain", test_pretrain.params(max_steps=4), {"model": start, "tokens": rows})
    store.remember([start, rows, node])
    return store, node


def started(store: Store, node: Node, *launcher: str) -> str:
    words = command(node, store)
    words = [*words[:2], *launcher, *words[2:]]  # after "python -P"
    environment = os.environ | {"PYTHONPATH": import_path(), "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
@connected
def test_two_processes_of_torchrun_build_what_one_builds(model, tokens, tmp_path):
    found = {}
    for name, launcher in (("one", ()), ("two", LAUNCHER)):
        store, node = prepared(tmp_path / name, model, tokens)
        assert started(store, node, *launcher) == f"{store.path(node)}\n"
        assert store.state(node) == "stored" and not (store.path(node) / "checkpoints").exists()
        found[name] = load_file(store.path(node) / "model/model.safetensors"), store.record(node)["facts"]
    (one, facts), (two, shared) = found["one"], found["two"]
    before = load_file(model / "model/model.safetensors")
    assert max(abs(value - before[key]).max() for key, value in one.items()) > 1e-3
    # the gradient of a key's bias is 0 but for rounding, of which Adam makes steps
    close(*({key: these[key] for key in these if not key.endswith("key.bias")} for these in (two, one)))
    close(shared["losses"], facts["losses"], dtype="float32")
    assert shared["flops"] == pytest.approx(facts["flops"], rel=0.3)


def test_each_of_several_processes_tells_its_failure_in_a_log_of_its_own(tmp_path, progress, monkeypatch):
    def fails(*arguments, **named):
        raise RuntimeError("no luck")

    monkeypatch.setattr(inline, "build", fails)
    store, node, logs = Store(tmp_path), Node("corpus", {"dataset": "x"}), []
    for world, rank in ((1, 1), (2, 0), (2, 1)):
        monkeypatch.setenv("WORLD_SIZE", str(world))
        monkeypatch.setenv("RANK", str(rank))
        with pytest.raises(StageError, match="no luck") as failed:
            inline.run_node(node, store, progress)
        logs.append(Path(str(failed.value).rpartition("log: ")[2].rstrip(")")))
    assert logs[0] == logs[1] == store.log(node)
    assert logs[2] == store.log(node).with_suffix(".1.log")
    assert all("RuntimeError: no luck" in log.read_text() for log in logs)
