"""The script of a job: one stage, or what the number of a task says, on one machine or several."""

import os
import shlex
import sys
from collections.abc import Sequence

from repro.running.engines.child import import_path, launcher, stage_command
from repro.running.engines.site import Resources, Site
from repro.running.engines.slurm_arrays import Batch
from repro.running.engines.torchrun import SHARED
from repro.stage_table import TRAININGS
from repro.store import Store

PORTS = 20_000  # first port and number of ports, of which a job takes one by its number
HEAD = 'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'


class _ShellWord(str):
    """A word that the shell has to fill in, quoted by whoever wrote it."""


def resources_of(stage: str, site: Site, nodes: int | None) -> Resources:
    """The resources that the site file states for a stage; a training takes its ``nodes`` machines."""
    resources = site.of(stage)
    machines = nodes if nodes and stage in TRAININGS else resources.nodes or 1
    return resources.model_copy(update={"nodes": machines if stage in SHARED else 1})


def script(batch: Batch, store: Store, site: Site, resources: Resources) -> str:
    """The job: the prologue in the shell, then the stage in its place, so that signals reach it.

    With several GPUs, a stage that shares its work is a process for each: torchrun under srun, on every
    machine of the job.
    """
    processes = (resources.gpus or 1) if batch.nodes[0].stage in SHARED else 1
    # PYTHONSAFEPATH is -P for what torchrun starts
    lines = ["#!/bin/bash", resources.prologue or "", "export PYTHONSAFEPATH=1"]
    if path := import_path():
        lines.append(f"export PYTHONPATH={shlex.quote(path)}")
    if resources.cpus and "OMP_NUM_THREADS" not in os.environ:
        lines.append(f"export OMP_NUM_THREADS={max(1, resources.cpus // processes)}")
    if batch.array and batch.shards == 1:
        cases = [f"{number}) node={node.fingerprint} ;;" for number, node in batch.tasks.items()]
        lines += ['case "$SLURM_ARRAY_TASK_ID" in', *cases, "esac"]
    if resources.nodes > 1:
        lines += [HEAD, f"port=$(({PORTS} + SLURM_JOB_ID % {PORTS}))"]
    stage = _stage(batch, store, site.python or sys.executable, processes, resources.nodes)
    if processes > 1 or resources.nodes > 1:
        cpus = [f"--cpus-per-task={resources.cpus}"] if resources.cpus else []  # srun does not take it over
        flags = ["--kill-on-bad-exit=1"] if resources.nodes > 1 else []  # all, when one machine's does
        stage = ["srun", f"--nodes={resources.nodes}", f"--ntasks={resources.nodes}", *flags, *cpus, *stage]
    words = (word if isinstance(word, _ShellWord) else shlex.quote(word) for word in stage)
    return "\n".join([*lines, f"exec {' '.join(words)}", ""])


def _stage(batch: Batch, store: Store, python: str, processes: int, machines: int) -> Sequence[str]:
    """The command of a task, under torchrun where it has several processes or machines."""
    launch, shard = [], []
    if machines > 1:
        rendezvous = ["--rdzv-backend=c10d", "--rdzv-id=stage", _ShellWord('--rdzv-endpoint="$head:$port"')]
        launch = launcher(processes, [f"--nnodes={machines}", *rendezvous])
    elif processes > 1:
        launch = launcher(processes)
    if batch.shards > 1:
        shard = ["--shard", _ShellWord(f'"$SLURM_ARRAY_TASK_ID/{batch.shards}"')]
    is_array = batch.array and batch.shards == 1
    fingerprint = _ShellWord('"$node"') if is_array else batch.nodes[0].fingerprint
    return [*stage_command(fingerprint, store, python, launch), *shard]
