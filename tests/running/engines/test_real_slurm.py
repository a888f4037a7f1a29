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

import pytest

from repro.machine.system import cores, memory
from repro.manifest.cells import select
from repro.running.engines import slurm_jobs
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store

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
    command = [sys.executable, "-m", "repro", verb, "--cell", CELL, "--scale", "tiny", *places, *options]
    return subprocess.run(command, capture_output=True, text=True)


def _settled(store: Store, nodes) -> dict[str, str]:
    """States of the jobs, by stage, once none is queued or running."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        jobs = slurm_jobs.jobs(store, nodes)
        if not {"queued", "running"} & {job.state for job in jobs.values()}:
            return {n.stage: jobs[n.fingerprint].state for n in nodes if n.fingerprint in jobs}
        time.sleep(1)
    raise AssertionError(f"jobs do not end: {jobs}")


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
    told = _run(tmp_path, "status").stdout
    assert "Slurm jobs of nodes that are not stored: 1 failed, 3 cancelled" in told
    assert "failed: corpus tiny/passage" in told

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
