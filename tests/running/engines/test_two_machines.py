"""The job of a training on two machines, run as it is by programs of Slurm's names that start both here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest

from repro.graph import Node
from repro.progress import Progress
from repro.running.engines.cluster import Site
from repro.running.engines.inline import run_node
from repro.running.engines.slurm import PORTS, Batch, resources_of, script
from repro.store import Store
from tests.floats import close
from tests.stage_inputs import pretraining, texts_and_model
from tests.tiny_models import tiny_masked_lm

pytestmark = pytest.mark.nightly  # starts torchrun twice
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do echo "$1" >> "$FAKE/srun"; shift; done
"$@" & "$@" & wait -n && wait -n
"""
OPTIONS = {"masking": {"rate": 0.15, "mask": 0.8, "random": 0.1}, "reduction": "mean"}
HOW = pretraining("mlm", "repro.retrieval.nn.mlm:MaskedLanguageModel", OPTIONS, max_steps=4)
MODEL, TOKENS = Node("initialise", {"seed": 1}), Node("tokenize", {"policy": "chunk"})
PRETRAIN = Node("pretrain", HOW, {"model": MODEL, "tokens": TOKENS})


def silent() -> None:
    pass


def _store(folder: Path) -> Store:
    """A store with 40 texts and a small model."""
    generator, store = np.random.default_rng(5), Store(folder / "store")
    rows = [{"input_ids": generator.integers(5, 77, 20).tolist()} for _ in range(40)]
    given = texts_and_model(folder / "given", rows)
    tiny_masked_lm(dropout=0.0).save_pretrained(given["model"] / "model")  # each process draws its own
    for node, name, inner in ((MODEL, "model", "model"), (TOKENS, "tokens", "arrow")):
        store.build(node, lambda to, n=name, i=inner: (given[n] / i).rename(to / i) and None, waiting=silent)
    store.remember([MODEL, TOKENS, PRETRAIN])
    return store


def _free_job() -> str:
    """A number of a job whose port is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1] - PORTS + PORTS * (free.getsockname()[1] >= 2 * PORTS))


def test_two_machines_end_with_the_weights_of_one(tmp_path):
    from safetensors.numpy import load_file

    one, two = (_store(tmp_path / name) for name in ("one", "two"))
    run_node(PRETRAIN, one, Progress())
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", "#!/bin/sh\necho 127.0.0.1\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    site = Site()
    job = script(Batch({0: PRETRAIN}), two, site, resources_of("pretrain", site, 2))
    variables = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "FAKE": str(tmp_path)}
    variables |= {"SLURM_JOB_ID": _free_job(), "SLURM_JOB_NODELIST": "a,b", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash"], input=job, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "--nodes=2" in (tmp_path / "srun").read_text().split()
    assert two.state(PRETRAIN) == "stored"
    logs = [(store.path(PRETRAIN) / "train_log.jsonl").read_text().splitlines() for store in (one, two)]
    losses = [[json.loads(line)["loss"] for line in log] for log in logs]
    close(losses[1], losses[0], dtype="float32")
    assert len(losses[0]) == 4
    weights = [load_file(store.path(PRETRAIN) / "model/model.safetensors") for store in (one, two)]
    close(weights[1], weights[0])
