"""Stages as jobs of Slurm, each waiting for its inputs' jobs; submitted, not waited for."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.progress import Progress
from repro.running.description import describe, describe_rows, places
from repro.running.engines import shards, slurm_jobs
from repro.running.engines.child import import_path, launcher, stage_command
from repro.running.engines.site import Resources, Site
from repro.running.engines.slurm_arrays import Batch, shard_array, siblings
from repro.running.engines.torchrun import SHARED
from repro.running.plan import Plan
from repro.running.runner import Options, Outcome, held_back, prepare
from repro.stage_table import TRAININGS
from repro.store import Store, underway


@dataclass
class Submission:
    """The jobs that one submission made or met.

    Attributes:
        outcome: nodes that something stands in the way of, as with other engines; nothing has run yet.
        submitted: fingerprint -> id of the job, of the task of an array, or of the array whose tasks are
            its shards, of what was submitted now.
        calls: how many times Slurm was asked to take something.
        again: those among them whose job had ended without an artefact: why.
        standing: fingerprint -> job, of what was queued or running before.
    """

    outcome: Outcome = field(default_factory=Outcome)
    submitted: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    again: dict[str, slurm_jobs.Job] = field(default_factory=dict)
    standing: dict[str, slurm_jobs.Job] = field(default_factory=dict)


def execute(plan: Plan, store: Store, progress: Progress, options: Options) -> Outcome:
    """Submit the plan and say how many jobs that made. Raises what ``submit`` raises."""
    if options.discard or options.max_disk is not None:
        fault = "--discard and --max-disk are of the engines inline and local"
        raise UsageError(
            f"{fault}; on Slurm, `repro store gc --finished` lets go of the vectors of finished rows"
        )
    with underway.announce(store.root, plan.nodes):  # until the jobs are noted
        submission = submit(plan, store, progress, options)
    if submission.submitted or submission.standing:
        counts = (
            f"{len(submission.submitted)} jobs submitted, {len(submission.standing)} queued or running before"
        )
        hint = "`repro plan` tells of them, the same command prints what was measured"
        progress.note(f"{counts}; {hint}; their output lies in {slurm_jobs.logs(store)}")
    return submission.outcome


def submit(plan: Plan, store: Store, progress: Progress, options: Options) -> Submission:
    """Submit every needed node that is neither stored nor in the queue, and that has its data here.

    GPUs and Java are the cluster's: that this machine has none holds nothing back.
    A job starts when the jobs of its inputs ended well; when one failed, Slurm cancels what waits for it.
    A preempted job is queued again, and resumes what it had begun. Siblings of one stage are one array, and
    so are shards of one node, of which those are submitted that are neither done nor in the queue.

    Raises:
        UsageError: there is no Slurm here, or it refuses a job; those submitted before stay.
        StoreError: as ``repro.running.runner.prepare``.
    """
    if shutil.which("sbatch") is None:
        raise UsageError("sbatch is not on PATH; run this where Slurm is, or take --engine local")
    plan.machine.leave()
    needed = prepare(plan.ends, store, rebuild=options.rebuild)
    submission, known_jobs = Submission(), slurm_jobs.jobs(store, needed)
    _note_unused_gpus(needed, options.site, progress)
    ids: dict[str, tuple[str, ...]] = {}
    todo: list[Node] = []
    for node in needed:
        job = known_jobs.get(node.fingerprint)
        if job and job.state in ("queued", "running") and not _waits_in_vain(node, known_jobs, submission):
            ids[node.fingerprint] = job.standing
            submission.standing[node.fingerprint] = job
        elif not held_back(node, plan.machine, submission.outcome):
            todo.append(node)
            if job:
                submission.again[node.fingerprint] = job
    teller = _Teller(progress, places(plan), submission)
    while todo:
        todo_fingerprints = {node.fingerprint for node in todo}
        ready = [node for node in todo if not any(p.fingerprint in todo_fingerprints for p in node.parents())]
        for batch in _batches(ready, store, options.shards, ids, submission):
            _submit(batch, store, options, ids, submission)
            teller.tell(batch)
        todo = [node for node in todo if node.fingerprint not in ids]
    return submission


def _waits_in_vain(node: Node, known_jobs: dict[str, slurm_jobs.Job], submission: Submission) -> bool:
    """Whether a job waits for one that ended badly: Slurm takes a moment to cancel it."""
    is_queued = known_jobs[node.fingerprint].state == "queued"
    return is_queued and any(p.fingerprint in submission.again for p in node.parents())


def _note_unused_gpus(nodes: list[Node], site: Site, progress: Progress) -> None:
    for stage in dict.fromkeys(node.stage for node in nodes):
        gpus = site.of(stage).gpus or 0
        if gpus > 1 and stage not in SHARED:
            progress.note(f"{stage}: the site file asks for {gpus} GPUs; this stage is one process, on one")


def _batches(
    nodes: list[Node], store: Store, shard_count: int, ids: dict[str, tuple[str, ...]], submission: Submission
) -> list[Batch]:
    """The submissions of nodes whose inputs are stored or submitted."""
    counts = {node.fingerprint: shards.count_of(node, shard_count) for node in nodes}
    batches = siblings([node for node in nodes if counts[node.fingerprint] == 1], ids)
    for node in nodes:
        if (count := counts[node.fingerprint]) > 1:
            missing = shards.shard_numbers(count) - shards.finished_shards(store, node, count)
            if job := submission.again.get(node.fingerprint):
                missing -= {int(id.partition("_")[2] or 0) for id in job.standing}
            batches.append(shard_array(node, missing or {count}, count, ids))  # the last puts it together
    return batches


def _submit(
    batch: Batch, store: Store, options: Options, ids: dict[str, tuple[str, ...]], submission: Submission
) -> None:
    """Submit a batch, and note its jobs."""
    log = slurm_jobs.log(store, batch.nodes[0], array=batch.array)
    id = _sbatch(batch, store, options, log)
    submission.calls += 1
    if batch.shards > 1:
        [node] = batch.nodes
        standing_ids = (
            submission.again[node.fingerprint].standing if node.fingerprint in submission.again else ()
        )
        slurm_jobs.note(store, node, [*standing_ids, *(f"{id}_{number}" for number in batch.tasks)], log)
        ids[node.fingerprint], submission.submitted[node.fingerprint] = (*standing_ids, id), id
        return
    for number, node in batch.tasks.items():
        task = f"{id}_{number}" if batch.array else id
        slurm_jobs.note(store, node, [task], log)
        ids[node.fingerprint], submission.submitted[node.fingerprint] = (task,), task


@dataclass
class _Teller:
    """Says what was submitted."""

    progress: Progress
    of_rows: dict
    done: Submission

    def tell(self, batch: Batch) -> None:
        node, *other_nodes = batch.nodes
        job = self.done.again.get(node.fingerprint)
        why = f", again: job {job.id} is {job.slurm}" if job else ""
        id = self.done.submitted[node.fingerprint].partition("_")[0]
        parts = [f"job {id}", describe_rows(self.of_rows[node.fingerprint]), describe(node)]
        if other_nodes:
            parts = [f"job {id}", f"{len(batch.nodes)} stages {node.stage}"]
        if batch.shards > 1:
            parts.append(f"{len(batch.tasks)} of {batch.shards} shards")
        self.progress.note(f"{': '.join(filter(None, parts))}{why}")


def _sbatch(batch: Batch, store: Store, options: Options, log: Path) -> str:
    """Submit a job or an array, and return its id."""
    node = batch.nodes[0]
    resources = resources_of(node.stage, options.site, options.nodes)
    log.parent.mkdir(parents=True, exist_ok=True)
    for file in _logs(batch, log):
        if file.is_symlink():  # Slurm would write wherever it leads
            file.unlink()
    output = str(log.parent).replace("%", "%%") + f"/{log.name}"
    words = ["sbatch", "--parsable", "--requeue", "--open-mode=append", f"--job-name=repro-{node}"]
    words += [f"--output={output}", f"--nodes={resources.nodes}", *resources.words(), *batch.dependency()]
    if batch.array:
        words.append(f"--array={','.join(map(str, batch.tasks))}")
    text = script(batch, store, options.site, resources)
    try:
        answer = subprocess.run(words, input=text, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        message = f"sbatch did not answer within two minutes for {node}; run the same command again"
        raise UsageError(message) from None
    id = answer.stdout.strip().split(";")[0]  # id;cluster
    if answer.returncode != 0 or not id:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        remedy = "correct the site file and run the same command again"
        raise UsageError(f"sbatch refuses {node}: {reason}; {remedy}")
    return id


def _logs(batch: Batch, log: Path) -> Iterable[Path]:
    return [log.with_name(log.name.replace("%a", str(number))) for number in batch.tasks]


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
