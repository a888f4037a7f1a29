"""Run stages as jobs of Snakemake, e.g. on Slurm or Kubernetes."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import BlockedError, UsageError
from repro.graph import Node, grouped, readers
from repro.machine.shard import Shard
from repro.machine.system import cores, stated_threads
from repro.progress import Progress
from repro.running import discarding, requirements
from repro.running.cost import amounts, shapes
from repro.running.cost.estimate import Estimate, assumed_throughput, estimate, throughput
from repro.running.cost.rehearsals import rehearsals
from repro.running.engines import child, shared_work
from repro.running.plan import Plan
from repro.running.runner import Options, Outcome, held_back, prepared_nodes
from repro.stage_table import ENCODINGS, SEARCHES, STAGES
from repro.store import Store, disk, translated_errors

FOLDER = "snakemake"
SNAKEFILE, PLAN = "Snakefile", "plan.json"
USUAL_GPU = "a100"
THREADS = 8  # at the papers' scale
LOOK = 1.0  # seconds
# the store has its own locks
ALWAYS = ("--keep-going", "--drop-metadata", "--nolock", "--quiet", "rules", "host")
RETRIES = 1


def execute(plan: Plan, store: Store, progress: Progress, options: Options) -> Outcome:
    """Build the plan with Snakemake. A GPU or Java missing here blocks nothing.

    Raises:
        BlockedError: Snakemake is not installed.
        UsageError: no job began, or ``max_disk`` is set.
        StoreError: as ``repro.running.runner.prepare``.
        KeyboardInterrupt: after it has ended its jobs.
    """
    if importlib.util.find_spec("snakemake") is None:
        raise BlockedError("Snakemake is not installed", "python -m pip install 'repro-bench[snakemake]'")
    if options.max_disk is not None:
        raise UsageError("--max-disk needs engine inline or local. With snakemake use --discard.")
    plan.machine.leave()
    plan.look(store)
    with prepared_nodes(plan.ends, store, progress, options) as (needed, room):
        outcome = Outcome()
        todo = [n for n in needed if not held_back(n, plan.machine, outcome)]
        if todo:
            _Course(plan, store, progress, options, room, outcome).carry_out(todo)
    return outcome


def write(nodes: Sequence[Node], plan: Plan, store: Store, folder: Path, options: Options) -> list[Job]:
    """Write plan.json and the Snakefile. Return the jobs."""
    rates = throughput(store, options.gpu) or assumed_throughput(USUAL_GPU)
    cost = estimate(plan, rates, None if options.gpu else rehearsals(store))
    jobs = arrange(nodes, cost, shards=options.shards)
    waits = inputs(jobs)
    content = {
        "rules": {kind: _rule(kind, plan, store, options) for kind in dict.fromkeys(j.kind for j in jobs)},
        "jobs": {
            job.name: {
                "rule": job.kind,
                "after": [f"done/{other.kind}/{other.name}" for other in waits[job.name]],
                "arguments": _arguments(job),
                "minutes": job.minutes,
                "mem_mb": job.mem_mb,
            }
            for job in jobs
        },
    }
    with translated_errors(folder, "folder", ""):
        folder.mkdir(parents=True, exist_ok=True)
        disk.write_whole(folder / PLAN, json.dumps(content))
        shutil.copyfile(Path(__file__).with_name(SNAKEFILE), folder / SNAKEFILE)
    return jobs


def _rule(kind: str, plan: Plan, store: Store, options: Options) -> dict[str, object]:
    is_small = not plan.scale.has_originals
    most = options.gpus_per_stage if kind in (*shared_work.ON_ALL_GPUS, GROUP) else 1
    gpus = 0 if is_small or not (kind == GROUP or shared_work.takes_gpu(kind)) else most
    processes = max(1, gpus) if kind in shared_work.SHARED else 1
    variables = {"PYTHONSAFEPATH": "1", "PYTHONPATH": child.import_path()}
    words = ["env", *(f"{name}={value}" for name, value in variables.items() if value)]
    return {
        "program": shlex.join([*words, *child.stage_command(store, processes=processes)]),
        "priority": [*STAGES, GROUP].index(kind),
        "threads": stated_threads() or (1 if is_small else THREADS),
        "gpu": gpus,
    }


def _arguments(job: Job) -> str:
    shard = [] if job.part.whole else ["--shard", str(job.part)]
    return " ".join([*(n.fingerprint for n in job.nodes), *shard])


@dataclass
class _Course:
    plan: Plan
    store: Store
    progress: Progress
    options: Options
    room: discarding.DiskRoom
    outcome: Outcome
    stored: set[str] = field(default_factory=set)

    def __post_init__(self):
        self.folder = self.store.root / FOLDER / f"{socket.gethostname()}-{os.getpid()}"

    def carry_out(self, nodes: list[Node]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        while nodes:
            jobs = write(nodes, self.plan, self.store, self.folder, self.options)
            words = f"{len(jobs)} jobs of {len(nodes)} stages for Snakemake"
            self.progress.note(f"{words} (logs: {self.folder / 'logs'})")
            status = self._run_snakemake(jobs)
            left = self._untried(jobs, nodes)
            if len(left) == len(nodes):
                fault = f"Snakemake ended with status {status} before any job (reason above"
                raise UsageError(f"{fault}, input in {self.folder})")
            nodes = left
        if not self.outcome.failed:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run_snakemake(self, jobs: Sequence[Job]) -> int:
        process = subprocess.Popen(
            [*command(self.folder), *ALWAYS, *_how(self.options)],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            start_new_session=True,  # Ctrl-C interrupts it once
        )
        waiting = {job.name: job for job in jobs}
        with child.interruptions() as signals:
            while process.poll() is None:
                time.sleep(LOOK)
                self._look(waiting)
                if signals:
                    os.killpg(process.pid, signal.SIGINT)
                    process.wait()
                    raise KeyboardInterrupt
        self._look(waiting)
        return process.returncode

    def _look(self, waiting: dict[str, Job]) -> None:
        for marker in self.folder.glob("done/*/*"):
            job = waiting.pop(marker.name, None)
            for node in job.nodes if job else ():
                self._is_stored(node)

    def _is_stored(self, node: Node) -> bool:
        if node.fingerprint not in self.stored and self.store.state(node) == "stored":
            self.stored.add(node.fingerprint)
            self.outcome.run.append(node)
            self.room.stored(node)
        return node.fingerprint in self.stored

    def _untried(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> list[Node]:
        logs = {n.fingerprint: self.folder / "logs" / f"{job.name}.log" for job in jobs for n in job.nodes}
        left = []
        for node in nodes:
            if self._is_stored(node) or held_back(node, self.plan.machine, self.outcome):
                continue
            result = _result(node, logs[node.fingerprint])
            if result is None:
                left.append(node)
            else:
                self.outcome.add(node, result)
        return left


def command(folder: Path) -> list[str]:
    places = ["--snakefile", str(folder / SNAKEFILE), "--directory", str(folder)]
    return [sys.executable, "-m", "snakemake", *places]


def _how(options: Options) -> list[str]:
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    if options.profile:
        return ["--profile", options.profile, *jobs]
    if "SNAKEMAKE_PROFILE" in os.environ:
        return jobs
    return [*(jobs or ["--cores", str(cores())]), "--retries", str(RETRIES)]


def _result(node: Node, log: Path) -> str | requirements.Obstacle | None:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return None
    if not lines:
        return f"stage {node} did not begin or was killed (see the output of Snakemake above)"
    word, _, status = lines[-1].partition(" ")
    killed = -signal.SIGKILL
    return child.result_of(node, int(status) if word == "status" and status.isdigit() else killed, log)


GROUP = "score"
AT_ONCE = 60  # minutes per job
MARGIN = 3  # factor of the estimate
LEAST, UNKNOWN = 10, 60  # minutes: for imports, without an estimate
BASE = 8_000  # MB of libraries, a model and a block


@dataclass(frozen=True)
class Job:
    """A job of a queue with its limits: several nodes, or one shard of a node."""

    nodes: tuple[Node, ...]
    part: Shard
    minutes: int
    mem_mb: int

    @property
    def name(self) -> str:
        """The first fingerprint and the shard, e.g. "3f2a….1-of-4"."""
        first = self.nodes[0].fingerprint
        return first if self.part.whole else f"{first}.{self.part.number}-of-{self.part.count}"

    @property
    def kind(self) -> str:
        kinds = {n.stage for n in self.nodes}
        return kinds.pop() if len(kinds) == 1 else GROUP


def arrange(nodes: Sequence[Node], cost: Estimate, *, shards: int = 1) -> list[Job]:
    """Arrange nodes, inputs first, into jobs. A node becomes at most ``shards`` jobs.

    Encodings of queries, searches and evaluations of the same vectors share a job unless other stages read
    their output.
    """
    counts = {n.fingerprint: shared_work.count_of(n, shards) for n in nodes}
    minutes = {n.fingerprint: _minutes(n, cost) for n in nodes}
    keys = _keys(nodes, counts)
    groups: dict[str, list[Node]] = {}
    latest: dict[str, tuple[str, float]] = {}  # key -> first node, minutes
    for node in nodes:
        first, so_far = node.fingerprint, 0.0
        if key := keys.get(node.fingerprint):
            more = minutes[node.fingerprint] or 0.0
            if key in latest and latest[key][1] + more <= AT_ONCE:
                first, so_far = latest[key]
            latest[key] = first, so_far + more
        groups.setdefault(first, []).append(node)
    return [job for first, group in groups.items() for job in _parts(group, counts[first], minutes)]


def _parts(group: Sequence[Node], count: int, minutes: Mapping[str, shapes.Number]) -> Iterator[Job]:
    estimates = [minutes[n.fingerprint] for n in group]
    needed = sum(UNKNOWN if each is None else MARGIN * each for each in estimates) / count
    memory = max(amounts.total(amounts.cost_of(n).memory, n) or 0 for n in group) / 1e6
    for number in range(1, count + 1):
        part = Shard(number, count)
        yield Job(tuple(group), part, LEAST + math.ceil(needed), BASE + math.ceil(memory))


def inputs(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    """Return name of a job -> the jobs that it waits for."""
    makers = grouped((node.fingerprint, job) for job in jobs for node in job.nodes)
    waits: dict[str, list[Job]] = {}
    for job in jobs:
        parents = dict.fromkeys(parent.fingerprint for node in job.nodes for parent in node.parents())
        others = dict.fromkeys(other for parent in parents for other in makers.get(parent, ()))
        waits[job.name] = [other for other in others if other.nodes != job.nodes]
    return waits


def _keys(nodes: Sequence[Node], counts: Mapping[str, int]) -> dict[str, str]:
    by_input, keys = readers(nodes), dict[str, str]()
    for node in reversed(nodes):
        reading = {keys.get(reader.fingerprint) for reader in by_input.get(node.fingerprint, ())}
        key = None if None in reading or counts[node.fingerprint] > 1 else _key(node, reading)
        if key is not None:
            keys[node.fingerprint] = key
    return keys


def _key(node: Node, reading: set[str | None]) -> str | None:
    if node.stage in (*SEARCHES, "index_size"):
        return node.input("passages").fingerprint
    if node.stage == "evaluate":
        run = node.input("run")
        return (run.input("passages") if run.stage in SEARCHES else run).fingerprint
    if node.stage in ENCODINGS and node.params.get("kind") == "queries" and len(reading) == 1:
        return reading.pop()
    return None


def _minutes(node: Node, cost: Estimate) -> shapes.Number:
    hours, is_known = cost.hours_of(node), cost.work_of(node).core_seconds is not None
    return 60 * (hours + cost.core_hours([node])) if hours is not None and is_known else None
