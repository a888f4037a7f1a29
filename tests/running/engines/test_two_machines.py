"""A training by torchrun on two simulated machines."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from repro.graph import Node
from repro.progress import Progress
from repro.running.engines.child import environment
from repro.running.engines.inline import run_node
from repro.store import Store
from tests.floats import close
from tests.stage_inputs import pretraining, texts_and_model
from tests.tiny_models import tiny_masked_lm

pytestmark = pytest.mark.nightly
OPTIONS = {"masking": {"rate": 0.15, "mask": 0.8, "random": 0.1}, "reduction": "mean"}
HOW = pretraining("mlm", "repro.retrieval.nn.objectives:MaskedLanguageModel", OPTIONS, max_steps=4)
MODEL, TOKENS = Node("initialise", {"seed": 1}), Node("tokenize", {"policy": "chunk"})
PRETRAIN = Node("pretrain", HOW, {"model": MODEL, "tokens": TOKENS})


def _store(folder: Path) -> Store:
    generator, store = np.random.default_rng(5), Store(folder / "store")
    rows = [{"input_ids": generator.integers(5, 77, 20).tolist()} for _ in range(40)]
    given = texts_and_model(folder / "given", rows)
    tiny_masked_lm(dropout=0.0).save_pretrained(given["model"] / "model")  # each process draws its own
    for node, name, inner in ((MODEL, "model", "model"), (TOKENS, "tokens", "arrow")):
        store.build(node, lambda to, n=name, i=inner: (given[n] / i).rename(to / i) and None)
    store.remember([MODEL, TOKENS, PRETRAIN])
    return store


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_two_machines_end_with_the_weights_of_one(tmp_path):
    from safetensors.numpy import load_file

    one, two = (_store(tmp_path / name) for name in ("one", "two"))
    run_node(PRETRAIN, one, Progress())
    meeting = [
        "--nnodes=2",
        "--rdzv-backend=c10d",
        "--rdzv-id=stage",
        f"--rdzv-endpoint=127.0.0.1:{_free_port()}",
    ]
    stage = ["-m", "repro", "stage", PRETRAIN.fingerprint, "--store", str(two.root)]
    command = [sys.executable, "-P", "-m", "torch.distributed.run", *meeting, "--nproc-per-node=1", *stage]
    machines = [subprocess.Popen(command, env=environment(1, {})) for _ in range(2)]
    assert [machine.wait(timeout=300) for machine in machines] == [0, 0]
    assert two.state(PRETRAIN) == "stored"
    logs = [(store.path(PRETRAIN) / "train_log.jsonl").read_text().splitlines() for store in (one, two)]
    losses = [[json.loads(line)["loss"] for line in log] for log in logs]
    close(losses[1], losses[0], dtype="float32")
    assert len(losses[0]) == 4
    weights = [load_file(store.path(PRETRAIN) / "model/model.safetensors") for store in (one, two)]
    close(weights[1], weights[0])
