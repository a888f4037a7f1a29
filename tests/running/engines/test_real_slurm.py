"""Snakemake sends jobs to a Slurm of one machine, installed by apt as root: REPRO_TEST_SLURM=1."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from repro.graph import Node
from repro.machine.system import cores, memory
from repro.progress import Progress
from repro.running.engines import snakemake
from repro.running.engines.inline import run_node
from repro.running.plan import Plan
from repro.running.requirements import Machine
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import RECORD, Store
from repro.store.disk import sha256
from tests.retrieval.stages.conftest import save_training_set
from tests.tiny_models import WORDS, save_tiny_model

pytestmark = pytest.mark.slurm
PLACE = Path("/etc/slurm/slurm.conf")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/none
CryptoType=crypto/none
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SchedulerParameters=sched_interval=5
MinJobAge=3600
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory}
PartitionName=main Nodes={host} Default=YES State=UP
"""


def _installed() -> str | None:
    if shutil.which("slurmctld") and shutil.which("slurmd"):
        return None if os.geteuid() == 0 else "a Slurm of one's own is started by root"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "slurm-wlm is not installed, and installing it takes root and apt-get"
    install = "apt-get update -q && apt-get install -y -q --no-install-recommends slurm-wlm"
    done = subprocess.run(["sh", "-c", install], capture_output=True, text=True)
    return None if done.returncode == 0 else f"slurm-wlm could not be installed: {done.stderr[-200:]}"


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A running Slurm, where its programs look for it: Snakemake's executor hands on no SLURM_CONF."""
    if not os.environ.get("REPRO_TEST_SLURM"):
        pytest.skip("starts, and where needed installs, a Slurm: set REPRO_TEST_SLURM=1")
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra `snakemake` is not installed")
    if reason := _installed():
        pytest.skip(reason)
    if os.path.lexists(PLACE):
        pytest.skip(f"{PLACE} is of a Slurm that is here")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    text = CONFIGURATION.format(
        host=socket.gethostname().split(".")[0],
        folder=folder,
        controller=_port(),
        daemon=_port(),
        cores=cores(),
        memory=memory() // 2**21,
    )
    configuration = folder / "slurm.conf"
    configuration.write_text(text)
    PLACE.parent.mkdir(exist_ok=True)
    PLACE.symlink_to(configuration)
    for daemon in ("slurmctld", "slurmd"):
        subprocess.run([daemon, "-f", configuration], check=True, timeout=60)
    yield
    for daemon in ("slurmd", "slurmctld"):
        os.kill(int((folder / f"{daemon}.pid").read_text()), 15)
    PLACE.unlink()


PROFILE = """\
executor: slurm
jobs: 4
retries: 1
latency-wait: 30
slurm-status-command: squeue
slurm-init-seconds-before-status-checks: 5
default-resources:
  slurm_partition: main
  slurm_account: none
set-resources:
  encode: {mem_mb: 1500 * attempt}
  sample: {mem_mb: 500}
  union: {mem_mb: 500}
"""
ROWS, BLOCK, SHARDS = 90_000, 20_000, 3  # five blocks: the second shard has the second and the fifth
HOW = {"kind": "passages", "length": 16, "separator": "[SEP]", "pooling": "cls", "normalize": False}


class Asked:
    exhibit, paper, owner = SimpleNamespace(id="node"), SimpleNamespace(name="made up"), "figure"


def _run(store: Store, *ends: Node):
    profile = store.root.parent / "profile"
    profile.mkdir(exist_ok=True)
    (profile / "config.yaml").write_text(PROFILE)
    planned = Plan(scale("tiny"), [], [], Machine(), exhibits={Asked(): end for end in ends})
    options = Options(profile=str(profile), shards=SHARDS, gpu="h100")
    return snakemake.execute(planned, store, Progress(), options)


def _files(store: Store, node: Node) -> dict[str, str]:
    folder = store.path(node)
    return {path.name: sha256(path) for path in folder.iterdir() if path.name != RECORD}


def _with_inputs(root: Path, node: Node) -> Store:
    from datasets import Dataset

    store, generator = Store(root), np.random.default_rng(3)
    texts = [" ".join(words) for words in generator.choice(WORDS, (ROWS, 5))]
    names = [f"d{number}" for number in range(ROWS)]
    rows = Dataset.from_dict({"id": names, "title": [""] * ROWS, "text": texts})
    store.build(node.inputs["model"], lambda folder: save_tiny_model(folder))
    store.build(node.inputs["texts"], lambda folder: rows.save_to_disk(str(folder / "arrow")))
    return store


def _kill_second_shard(store: Store, node: Node) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until and not (store.partial(node) / "blocks" / f"{BLOCK}.npz").exists():
        time.sleep(0.1)
    found = subprocess.run(
        ["pgrep", "-f", f"{node.fingerprint} --shard 2/{SHARDS}"], capture_output=True, text=True
    )
    for process in found.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), 9)


def test_shards_equal_the_whole_and_one_that_was_killed_is_tried_again(cluster, tmp_path):
    inputs = {
        "model": Node("backbone", {"name": "m", "revision": "main"}),
        "texts": Node("corpus", {"dataset": "made up"}),
    }
    encoding = Node("encode", HOW | {"precision": "fp32"}, inputs)
    whole, parted = (_with_inputs(tmp_path / name / "store", encoding) for name in ("whole", "parted"))
    run_node(encoding, whole, Progress())
    killer = threading.Thread(target=_kill_second_shard, args=(parted, encoding))
    killer.start()
    outcome = _run(parted, encoding)
    killer.join()
    assert [n.fingerprint for n in outcome.run] == [encoding.fingerprint]
    assert _files(parted, encoding) == _files(whole, encoding)
    parts = parted.record(encoding)["facts"]["shards"]
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"] and all(part["host"] for part in parts)


def test_of_siblings_one_that_fails_takes_only_what_waits_for_it(cluster, tmp_path):
    store, given = Store(tmp_path / "store"), Node("judged_examples", {"negative_grade": 0})
    examples = [("q", ["d"], ["e"])]
    store.build(given, lambda folder: save_training_set(folder, examples) and None)
    how = {"sample": 1, "method": "random", "seed": 1}
    drawn = [Node("sample", how | {"queries": n}, {"training_set": given}) for n in (1, 0, 2)]
    unions = [Node("union", {}, {"training_sets": (one,)}) for one in drawn]
    outcome = _run(store, *unions)
    assert [store.state(node) for node in unions] == ["stored", "missing", "stored"]
    assert {str(error) for error in outcome.failed.values()} == {"queries is 0, and has to be at least 1"}
