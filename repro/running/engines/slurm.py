"""Stages as jobs of Slurm, each waiting for its inputs' jobs; submitted, not waited for.

Nodes that are alike are submitted together: siblings of one stage, and shards of one node, as one job array.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.progress import Progress
from repro.running.engines import cluster
from repro.running.engines.child import import_path, launcher, stage_command
from repro.running.engines.cluster import Job, Resources, Site
from repro.running.engines.shared_work import SHARED, count_of, finished_shards, shard_numbers
from repro.running.plan import Plan
from repro.running.run_progress import describe, describe_rows, places
from repro.running.runner import Options, Outcome, held_back, prepare
from repro.stage_table import TRAININGS
from repro.store import Store, underway

LONGEST = 1000  # where a cluster says nothing else, the number of an array's task is at most that
PORTS = 20_000  # first port and number of ports, of which a job takes one by its number
HEAD = 'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'


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
        ids: fingerprint -> what waits for it waits for these jobs, tasks or arrays.
    """

    outcome: Outcome = field(default_factory=Outcome)
    submitted: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    again: dict[str, Job] = field(default_factory=dict)
    standing: dict[str, Job] = field(default_factory=dict)
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """The tasks that one call of sbatch submits.

    Attributes:
        tasks: number in the array -> node; of a single job 0.
        shards: how many shards the node has, where the tasks are shards of one node.
        waits: ids of jobs that every task waits for: whole jobs, whole arrays, or tasks ("12_3").
        same: ids of arrays of which each task waits for the one of its own number.
    """

    tasks: Mapping[int, Node]
    shards: int = 1
    waits: tuple[str, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def array(self) -> bool:
        return 0 not in self.tasks

    @property
    def nodes(self) -> list[Node]:
        """The nodes that its tasks build, each once."""
        return list(dict.fromkeys(self.tasks.values()))

    def dependency(self) -> list[str]:
        """Return options by which a task starts when what it waits for ended well, else goes."""
        kinds = (("afterok", self.waits), ("aftercorr", self.same))
        conditions = [":".join((kind, *ids)) for kind, ids in kinds if ids]
        return [f"--dependency={','.join(conditions)}", "--kill-on-invalid-dep=yes"] if conditions else []


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
        progress.note(f"{counts}; {hint}; their output lies in {cluster.logs(store)}")
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
    done, known_jobs = Submission(), cluster.jobs(store, needed)
    _note_unused_gpus(needed, options.site, progress)
    todo: list[Node] = []
    for node in needed:
        job = known_jobs.get(node.fingerprint)
        if job and job.state in ("queued", "running") and not _waits_in_vain(node, job, done):
            done.ids[node.fingerprint] = job.standing
            done.standing[node.fingerprint] = job
        elif not held_back(node, plan.machine, done.outcome):
            todo.append(node)
            if job:
                done.again[node.fingerprint] = job
    rows = places(plan)
    while todo:
        todo_fingerprints = {node.fingerprint for node in todo}
        ready = [node for node in todo if not any(p.fingerprint in todo_fingerprints for p in node.parents())]
        for batch in _batches(ready, store, options.shards, done):
            _submit(batch, store, options, done)
            progress.note(_sentence(batch, describe_rows(rows[batch.nodes[0].fingerprint]), done))
        todo = [node for node in todo if node.fingerprint not in done.ids]
    return done


def _waits_in_vain(node: Node, job: Job, done: Submission) -> bool:
    """Whether a job waits for one that ended badly: Slurm takes a moment to cancel it."""
    return job.state == "queued" and any(p.fingerprint in done.again for p in node.parents())


def _note_unused_gpus(nodes: list[Node], site: Site, progress: Progress) -> None:
    for stage in dict.fromkeys(node.stage for node in nodes):
        gpus = site.of(stage).gpus or 0
        if gpus > 1 and stage not in SHARED:
            progress.note(f"{stage}: the site file asks for {gpus} GPUs; this stage is one process, on one")


def _batches(nodes: list[Node], store: Store, shard_count: int, done: Submission) -> list[Batch]:
    """Return the submissions of nodes whose inputs are stored or submitted."""
    counts = {node: count_of(node, shard_count) for node in nodes}
    batches = siblings([node for node in nodes if counts[node] == 1], done.ids)
    for node in nodes:
        if (count := counts[node]) > 1:
            missing = shard_numbers(count) - finished_shards(store, node, count)
            if job := done.again.get(node.fingerprint):
                missing -= {int(id.partition("_")[2] or 0) for id in job.standing}
            batches.append(shard_array(node, missing or {count}, count, done.ids))  # the last joins them
    return batches


def siblings(nodes: Iterable[Node], jobs: Mapping[str, Sequence[str]]) -> list[Batch]:
    """Arrange nodes, whose inputs are stored or submitted, into few submissions.

    In one array are nodes of one stage that wait for the same jobs and, in arrays submitted before, for the
    tasks of their own number. Nothing waits for more than its own inputs. Of the arrays that are possible
    the largest is taken first.

    Args:
        jobs: fingerprint -> ids of the jobs that build it, of what is submitted.
    """
    possible: dict[_Dependency, dict[Node, int | None]] = {}
    for node in nodes:
        for way, number in _ways(node, _ids(node, jobs)):
            possible.setdefault(way, {})[node] = number
    batches: list[Batch] = []
    while possible:
        way = max(possible, key=lambda way: len(possible[way]))
        members = possible.pop(way)
        batches += _arrays(way, members, jobs)
        possible = {
            w: remaining
            for w, numbers in possible.items()
            if (remaining := {n: numbers[n] for n in numbers if n not in members})
        }
    return batches


@dataclass(frozen=True)
class _Dependency:
    """A way for tasks of one array to wait: all for ``waits``, each for its own number in ``same``."""

    stage: str
    waits: tuple[str, ...]
    same: tuple[str, ...]


def _ways(node: Node, ids: tuple[str, ...]) -> Iterator[tuple[_Dependency, int | None]]:
    """Yield the ways in which a node can wait for jobs and tasks, with the number that it then must have."""
    yield _Dependency(node.stage, ids, ()), None
    for number in dict.fromkeys(id.partition("_")[2] for id in ids if "_" in id):
        numbered_ids = tuple(id for id in ids if id.endswith(f"_{number}"))
        other_ids = tuple(id for id in ids if id not in numbered_ids)
        arrays = tuple(id.partition("_")[0] for id in numbered_ids)
        yield _Dependency(node.stage, other_ids, arrays), int(number)


def _ids(node: Node, jobs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    ids = (id for parent in node.parents() for id in jobs.get(parent.fingerprint, ()))
    return tuple(dict.fromkeys(ids))


def _arrays(
    way: _Dependency, members: Mapping[Node, int | None], jobs: Mapping[str, Sequence[str]]
) -> Iterator[Batch]:
    """Yield the arrays of nodes that wait in one way: two that must have one number are in two of them."""
    arrays: list[dict[int, Node]] = []
    for node, number in members.items():
        free_arrays = (array for array in arrays if (number not in array if number else len(array) < LONGEST))
        if (array := next(free_arrays, None)) is None:
            arrays.append(array := {})
        array[number or len(array) + 1] = node
    for array in arrays:
        [node, *other_nodes] = array.values()
        alone = Batch({0: node}, waits=_ids(node, jobs))
        yield Batch(array, waits=way.waits, same=way.same) if other_nodes else alone


def shard_array(node: Node, numbers: Iterable[int], shards: int, jobs: Mapping[str, Sequence[str]]) -> Batch:
    """Return an array whose tasks are shards of one node: those of ``numbers``, among ``shards``."""
    return Batch(dict.fromkeys(sorted(numbers), node), shards=shards, waits=_ids(node, jobs))


def _submit(batch: Batch, store: Store, options: Options, done: Submission) -> None:
    """Submit a batch, and note its jobs."""
    log = cluster.log(store, batch.nodes[0], array=batch.array)
    id = _sbatch(batch, store, options, log)
    done.calls += 1
    if batch.shards > 1:
        [node] = batch.nodes
        job = done.again.get(node.fingerprint)
        standing_ids = job.standing if job else ()
        cluster.note(store, node, [*standing_ids, *(f"{id}_{number}" for number in batch.tasks)], log)
        done.ids[node.fingerprint], done.submitted[node.fingerprint] = (*standing_ids, id), id
        return
    for number, node in batch.tasks.items():
        task = f"{id}_{number}" if batch.array else id
        cluster.note(store, node, [task], log)
        done.ids[node.fingerprint], done.submitted[node.fingerprint] = (task,), task


def _sentence(batch: Batch, rows: str, done: Submission) -> str:
    """Say what was submitted, for which rows, and why once more."""
    node, *other_nodes = batch.nodes
    job = done.again.get(node.fingerprint)
    why = f", again: job {job.id} is {job.slurm}" if job else ""
    parts = [f"job {done.submitted[node.fingerprint].partition('_')[0]}"]
    parts += [f"{len(batch.nodes)} stages {node.stage}"] if other_nodes else [rows, describe(node)]
    if batch.shards > 1:
        parts.append(f"{len(batch.tasks)} of {batch.shards} shards")
    return f"{': '.join(filter(None, parts))}{why}"


def _sbatch(batch: Batch, store: Store, options: Options, log: Path) -> str:
    """Submit a job or an array, and return its id."""
    node = batch.nodes[0]
    resources = resources_of(node.stage, options.site, options.nodes)
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in batch.tasks:
        file = log.with_name(log.name.replace("%a", str(number)))
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


def resources_of(stage: str, site: Site, nodes: int | None) -> Resources:
    """Return what the site file states for a stage; a training takes its ``nodes`` machines."""
    resources = site.of(stage)
    machines = nodes if nodes and stage in TRAININGS else resources.machines
    return resources.model_copy(update={"nodes": machines if stage in SHARED else 1})


class _ShellWord(str):
    """A word that the shell has to fill in, quoted by whoever wrote it."""


def script(batch: Batch, store: Store, site: Site, resources: Resources) -> str:
    """Return the job: the prologue in the shell, then the stage in its place, so that signals reach it.

    With several GPUs, a stage that shares its work is a process for each: torchrun under srun, on every
    machine of the job.
    """
    processes = (resources.gpus or 1) if batch.nodes[0].stage in SHARED else 1
    machines = resources.machines
    # PYTHONSAFEPATH is -P for what torchrun starts
    lines = ["#!/bin/bash", resources.prologue or "", "export PYTHONSAFEPATH=1"]
    if path := import_path():
        lines.append(f"export PYTHONPATH={shlex.quote(path)}")
    if resources.cpus and "OMP_NUM_THREADS" not in os.environ:
        lines.append(f"export OMP_NUM_THREADS={max(1, resources.cpus // processes)}")
    if batch.array and batch.shards == 1:
        cases = [f"{number}) node={node.fingerprint} ;;" for number, node in batch.tasks.items()]
        lines += ['case "$SLURM_ARRAY_TASK_ID" in', *cases, "esac"]
    if machines > 1:
        lines += [HEAD, f"port=$(({PORTS} + SLURM_JOB_ID % {PORTS}))"]
    stage = _stage(batch, store, site.python or sys.executable, processes, machines)
    if processes > 1 or machines > 1:
        cpus = [f"--cpus-per-task={resources.cpus}"] if resources.cpus else []  # srun does not take it over
        flags = ["--kill-on-bad-exit=1"] if machines > 1 else []  # all, when one machine's does
        stage = ["srun", f"--nodes={machines}", f"--ntasks={machines}", *flags, *cpus, *stage]
    words = (word if isinstance(word, _ShellWord) else shlex.quote(word) for word in stage)
    return "\n".join([*lines, f"exec {' '.join(words)}", ""])


def _stage(batch: Batch, store: Store, python: str, processes: int, machines: int) -> Sequence[str]:
    """Return the command of a task, under torchrun where it has several processes or machines."""
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
