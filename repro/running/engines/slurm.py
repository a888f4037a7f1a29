"""Stages as jobs of Slurm, each waiting for its inputs' jobs; submitted, not waited for."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from repro.errors import UsageError
from repro.graph import Node
from repro.progress import Progress
from repro.running.description import describe, places, whose
from repro.running.engines import slurm_jobs
from repro.running.engines.child import command, import_path
from repro.running.engines.site import Resources, Site
from repro.running.engines.torchrun import SHARED
from repro.running.plan import Plan
from repro.running.runner import Options, Outcome, held_back, prepare
from repro.store import Store, underway


@dataclass
class Submission:
    """The jobs that one submission made or met.

    Attributes:
        outcome: nodes that something stands in the way of, as with other engines; nothing has run yet.
        submitted: fingerprint -> job id, of what was submitted now.
        again: those among them whose job had ended without an artefact: why.
        standing: fingerprint -> job, of what was queued or running before.
    """

    outcome: Outcome = field(default_factory=Outcome)
    submitted: dict[str, str] = field(default_factory=dict)
    again: dict[str, slurm_jobs.Job] = field(default_factory=dict)
    standing: dict[str, slurm_jobs.Job] = field(default_factory=dict)


def execute(plan: Plan, store: Store, progress: Progress, options: Options) -> Outcome:
    """Submit the plan and say how many jobs that made. Raises what ``submit`` raises."""
    if options.discard or options.max_disk is not None:
        fault = "--discard and --max-disk are of the engines inline and local"
        raise UsageError(f"{fault}; on Slurm, `repro gc --finished` lets go of the vectors of finished rows")
    with underway.announced(store.root, plan.nodes):  # until the jobs are noted
        done = submit(plan, store, progress, options)
    if done.submitted or done.standing:
        counts = f"{len(done.submitted)} jobs submitted, {len(done.standing)} queued or running before"
        hint = "`repro status` tells of them, the same command prints what was measured"
        progress.note(f"{counts}; {hint}")
    return done.outcome


def submit(plan: Plan, store: Store, progress: Progress, options: Options) -> Submission:
    """Submit every needed node that is neither stored nor in the queue, and that has its data here.

    GPUs and Java are the cluster's: that this machine has none holds nothing back.
    A job starts when the jobs of its inputs ended well; when one failed, Slurm cancels what waits for it.
    A preempted job is queued again, and resumes what it had begun.

    Raises:
        UsageError: there is no Slurm here, or it refuses a job; those submitted before stay.
        StoreError: as ``repro.running.runner.prepare``.
    """
    if shutil.which("sbatch") is None:
        raise UsageError("sbatch is not on PATH; run this where Slurm is, or take --engine local")
    plan.machine.leave()
    site, needed = options.site, prepare(plan.ends, store, rebuild=options.rebuild)
    done, known = Submission(), slurm_jobs.jobs(store, needed)
    _note_unused_gpus(needed, site, progress)
    jobs: dict[str, str] = {}
    of_rows = places(plan)
    for node in needed:
        job = known.get(node.fingerprint)
        if job and job.state in ("queued", "running") and not _waits_in_vain(node, known, done):
            jobs[node.fingerprint] = job.id
            done.standing[node.fingerprint] = job
        elif not held_back(node, plan.machine, done.outcome):
            inputs = [jobs[p.fingerprint] for p in node.parents() if p.fingerprint in jobs]
            id = _sbatch(node, store, site, inputs)
            slurm_jobs.note(store, node, id)
            jobs[node.fingerprint] = done.submitted[node.fingerprint] = id
            if job:
                done.again[node.fingerprint] = job
            why = f", again: job {job.id} is {job.slurm}" if job else ""
            words = ": ".join(filter(None, [f"job {id}", whose(of_rows[node.fingerprint]), describe(node)]))
            progress.note(f"{words}{why}")
    return done


def _waits_in_vain(node: Node, known: dict[str, slurm_jobs.Job], done: Submission) -> bool:
    """Whether a job waits for one that ended badly: Slurm takes a moment to cancel it."""
    queued = known[node.fingerprint].state == "queued"
    return queued and any(p.fingerprint in done.again for p in node.parents())


def _note_unused_gpus(nodes: list[Node], site: Site, progress: Progress) -> None:
    for stage in dict.fromkeys(node.stage for node in nodes):
        gpus = site.of(stage).gpus or 0
        if gpus > 1 and stage not in SHARED:
            progress.note(f"{stage}: the site file asks for {gpus} GPUs; this stage is one process, on one")


def _sbatch(node: Node, store: Store, site: Site, inputs: list[str]) -> str:
    """Submit one node and return the job's id."""
    resources = site.of(node.stage)
    log = slurm_jobs.log(store, node)
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.is_symlink():  # Slurm would write wherever it leads
        log.unlink()
    words = ["sbatch", "--parsable", "--requeue", "--open-mode=append", f"--job-name=repro-{node}"]
    words += [f"--output={str(log).replace('%', '%%')}", "--nodes=1", *resources.words()]
    if inputs:
        words += [f"--dependency=afterok:{':'.join(dict.fromkeys(inputs))}", "--kill-on-invalid-dep=yes"]
    script = _script(node, store, site, resources)
    try:
        answer = subprocess.run(words, input=script, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        late = f"sbatch did not answer within two minutes for {node}; run the same command again"
        raise UsageError(late) from None
    id = answer.stdout.strip().split(";")[0]  # id;cluster
    if answer.returncode != 0 or not id:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        remedy = "correct the site file and run the same command again"
        raise UsageError(f"sbatch refuses {node}: {reason}; {remedy}")
    return id


def _script(node: Node, store: Store, site: Site, resources: Resources) -> str:
    """The job: the prologue in the shell, then the stage in its place, so that signals reach it.

    With several GPUs, a stage that shares its work is a process for each on one node: torchrun under srun.
    """
    processes = (resources.gpus or 1) if node.stage in SHARED else 1
    # PYTHONSAFEPATH is -P for what torchrun starts
    lines = ["#!/bin/bash", resources.prologue or "", "export PYTHONSAFEPATH=1"]
    if path := import_path():
        lines.append(f"export PYTHONPATH={shlex.quote(path)}")
    if resources.cpus and "OMP_NUM_THREADS" not in os.environ:
        lines.append(f"export OMP_NUM_THREADS={max(1, resources.cpus // processes)}")
    stage = command(node, store, site.python or sys.executable, processes=processes)
    if processes > 1:
        cpus = [f"--cpus-per-task={resources.cpus}"] if resources.cpus else []  # srun does not take it over
        stage = ["srun", "--nodes=1", "--ntasks=1", *cpus, *stage]
    return "\n".join([*lines, f"exec {shlex.join(stage)}", ""])
