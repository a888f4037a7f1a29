"""A Slurm of one machine, started for the test: a graph with a stage that fails, then a second submission.

REPRO_TEST_SLURM=1 asks for it; it installs Debian's slurm-wlm where there is none, which takes root and apt.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from repro.graph import Node
from repro.machine.system import cores, memory
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.engines import shared_work, slurm
from repro.running.engines.cluster import Resources, Site, jobs
from repro.running.engines.inline import run_node
from repro.running.plan import Plan, plan
from repro.running.requirements import Machine
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import RECORD, Store
from repro.store.disk import sha256
from tests.retrieval.stages.conftest import save_training_set
from tests.tiny_models import WORDS, save_tiny_model

pytestmark = pytest.mark.slurm
CELL = "costa/1/sparse.bm25/dev.rr10"
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
    """Why there is no Slurm here, or None."""
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
    """SLURM_CONF of a running Slurm."""
    if not os.environ.get("REPRO_TEST_SLURM"):
        pytest.skip("starts, and where needed installs, a Slurm: set REPRO_TEST_SLURM=1")
    if reason := _installed():
        pytest.skip(reason)
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
    before, os.environ["SLURM_CONF"] = os.environ.get("SLURM_CONF"), str(configuration)
    for daemon in ("slurmctld", "slurmd"):
        subprocess.run([daemon, "-f", configuration], check=True, timeout=60)
    yield configuration
    for daemon in ("slurmd", "slurmctld"):
        os.kill(int((folder / f"{daemon}.pid").read_text()), 15)
    os.environ.pop("SLURM_CONF") if before is None else os.environ.update(SLURM_CONF=before)


def _run(folder: Path, verb: str, *options) -> subprocess.CompletedProcess:
    places = ["--store", str(folder / "store"), "--results", str(folder / "results")]
    command = [sys.executable, "-m", "repro", verb, CELL, "--scale", "tiny", *places, *options]
    return subprocess.run(command, capture_output=True, text=True)


def _settled(store: Store, nodes) -> dict[str, str]:
    """States of the jobs, by stage, once none is queued or running."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        states = jobs(store, nodes)
        if not {"queued", "running"} & {job.state for job in states.values()}:
            return {n.stage: states[n.fingerprint].state for n in nodes if n.fingerprint in states}
        time.sleep(1)
    raise AssertionError(f"jobs do not end: {states}")


def test_siblings_of_a_failed_stage_end_and_a_second_submission_continues(cluster, tmp_path):
    site = tmp_path / "site.yaml"
    common = 'default: {partition: main, cpus: 1, memory: 1500M, time: "0:10:00"}\n'
    site.write_text(common + "stages:\n  corpus: {prologue: exit 7}\n")
    slurm = ("--engine", "slurm", "--site", str(site))
    first = _run(tmp_path, "run", *slurm)
    assert first.returncode == 0 and "6 jobs submitted, 0 queued or running before" in first.stderr

    cells = select((), tables=(), rows=(), cells=(CELL,))
    nodes = plan(cells, scale=scale("tiny"), machine=Machine()).nodes
    store = Store(tmp_path / "store")
    assert _settled(store, nodes) == {
        "corpus": "failed",
        "queries": "done",
        "qrels": "done",
        "lucene_index": "cancelled",
        "bm25": "cancelled",
        "evaluate": "cancelled",
    }
    assert {n.stage for n in nodes if store.state(n) == "stored"} == {"queries", "qrels"}
    told = _run(tmp_path, "plan").stdout
    assert "Slurm jobs of nodes that are not stored: 1 failed, 3 cancelled" in told
    assert "failed: corpus on tiny/passage" in told

    site.write_text(common)
    second = _run(tmp_path, "run", *slurm)
    assert "4 jobs submitted, 0 queued or running before" in second.stderr, second.stderr
    meanwhile = _run(tmp_path, "run", *slurm)
    assert "0 jobs submitted, " in meanwhile.stderr, meanwhile.stderr
    _settled(store, nodes)
    assert all(store.state(node) == "stored" for node in nodes)
    third = _run(tmp_path, "run", *slurm)
    assert third.returncode == 0 and "jobs submitted" not in third.stderr
    assert "1 scaled." in third.stdout


SITE = Site(default=Resources(partition="main", cpus=1, memory="1500M", time="0:20:00"))
ROWS, BLOCK, SHARDS = 90_000, 20_000, 3  # five blocks: the second shard has the second and the fifth
HOW = {"kind": "passages", "length": 16, "separator": "[SEP]", "pooling": "cls", "normalize": False}


def silent() -> None:
    pass


class Asked:
    """A reason for a node that no table asks for."""

    exhibit, paper, owner = SimpleNamespace(id="node"), SimpleNamespace(name="made up"), "figure"


def _submitted(store: Store, *ends: Node) -> slurm.Submission:
    planned = Plan(scale("tiny"), [], [], Machine(), exhibits={Asked(): end for end in ends})
    return slurm.submit(planned, store, Progress(), Options(site=SITE, shards=SHARDS))


@pytest.fixture(scope="module")
def encoding() -> Node:
    model, corpus = Node("initialise", {"seed": 1}), Node("corpus", {"dataset": "made up"})
    return Node("encode", HOW | {"precision": "fp32"}, {"model": model, "texts": corpus})


def _with_inputs(root: Path, node: Node) -> Store:
    """A store with a small model and 90,000 short passages."""
    from datasets import Dataset

    store, generator = Store(root), np.random.default_rng(3)
    texts = [" ".join(words) for words in generator.choice(WORDS, (ROWS, 5))]
    names = [f"d{number}" for number in range(ROWS)]
    rows = Dataset.from_dict({"id": names, "title": [""] * ROWS, "text": texts})
    store.build(node.inputs["model"], lambda folder: save_tiny_model(folder), waiting=silent)
    store.build(node.inputs["texts"], lambda folder: rows.save_to_disk(str(folder / "arrow")), waiting=silent)
    return store


def _files(store: Store, node: Node) -> dict[str, str]:
    folder = store.path(node)
    return {path.name: sha256(path) for path in folder.iterdir() if path.name != RECORD}


def _until(holds, seconds: int = 300) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.2)


def test_shards_equal_the_whole_and_one_that_was_killed_is_done_again_alone(cluster, tmp_path, encoding):
    whole, parted = (_with_inputs(tmp_path / name, encoding) for name in ("whole", "parted"))
    run_node(encoding, whole, Progress())
    first = _submitted(parted, encoding)
    id, blocks = first.submitted[encoding.fingerprint], parted.partial(encoding) / "blocks"
    assert first.calls == 1
    kept = blocks / f"{BLOCK}.npz"
    _until(kept.exists)
    subprocess.run(["scancel", "--full", "--signal=KILL", f"{id}_2"], check=True)
    assert _settled(parted, [encoding]) == {"encode": "cancelled"}
    assert (
        shared_work.finished_shards(parted, encoding, SHARDS) == {1, 3}
        and parted.state(encoding) == "partial"
    )
    written = kept.stat().st_mtime_ns

    held = os.open(kept, os.O_RDONLY)  # so that its time can be seen when it is gone
    again = _submitted(parted, encoding)
    job = jobs(parted, [encoding])[encoding.fingerprint]
    assert job.id == f"{again.submitted[encoding.fingerprint]}_2" and not job.tasks, "it alone"
    assert _settled(parted, [encoding]) == {"encode": "done"}
    assert os.fstat(held).st_mtime_ns == written
    os.close(held)
    assert _files(parted, encoding) == _files(whole, encoding)
    parts = parted.record(encoding)["facts"]["shards"]
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"] and all(part["host"] for part in parts)


def test_of_siblings_one_that_fails_takes_only_what_waits_for_it(cluster, tmp_path):
    store, given = Store(tmp_path / "store"), Node("judged_examples", {"negative_grade": 0})
    store.build(
        given, lambda folder: save_training_set(folder, [("q", ["d"], ["e"])]) and None, waiting=silent
    )
    how = {"sample": 1, "method": "random", "seed": 1}
    drawn = [Node("sample", how | {"queries": n}, {"training_set": given}) for n in (1, 0, 2)]  # 0 is refused
    unions = [Node("union", {}, {"training_sets": (one,)}) for one in drawn]
    done = _submitted(store, *unions)
    assert done.calls == 2, "an array of three, and another"
    until = time.monotonic() + 300
    while {job.state for job in jobs(store, [*drawn, *unions]).values()} & {"queued", "running"}:
        assert time.monotonic() < until, "jobs do not end"
        time.sleep(1)
    states = jobs(store, [*drawn, *unions])
    assert [states[node.fingerprint].state for node in drawn] == ["done", "failed", "done"]
    assert [states[node.fingerprint].state for node in unions] == ["done", "cancelled", "done"]
    assert [store.state(node) for node in unions] == ["stored", "missing", "stored"]
    assert "a sample of 0 queries is none" in states[drawn[1].fingerprint].log.read_text()
