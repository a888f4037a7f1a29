"""A cluster of Slurm: the resources that stages ask of it, and the jobs that were submitted to it.

Resources are stated in a site file, a few lines of YAML. The ids of jobs lie in the store, their states come
from Slurm.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping
from repro.stage_table import STAGES
from repro.store import Store, translated_errors
from repro.store.disk import write_whole

GOING_ON = {"RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SUSPENDED", "STOPPED", "SIGNALING"}
WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING"}
WORST_FIRST = ("failed", "running", "queued", "cancelled", "done")
Positive = Annotated[int, Field(ge=1)]


class Resources(StrictMapping):
    """The resources of one stage; those left out are left to the cluster.

    Attributes:
        gpus: of each machine.
        nodes: machines, of a stage that shares its work among processes.
        memory, time: as sbatch takes them: ``16G``, ``24:00:00``.
        options: further words for sbatch, one each.
        prologue: shell lines before the stage, ``module load cuda`` say.
    """

    partition: str | None = None
    gpus: Annotated[int, Field(ge=0)] | None = None
    nodes: Positive | None = None
    cpus: Positive | None = None
    memory: str | None = None
    time: str | None = None
    options: tuple[str, ...] = ()
    prologue: str | None = None

    @property
    def machines(self) -> int:
        """The number of machines, one where nothing is said of it."""
        return self.nodes or 1

    def words(self) -> list[str]:
        """Return these resources as options of sbatch."""
        gpus = "--gpus-per-node" if self.machines > 1 else "--gpus"
        pairs = {"--partition": self.partition, gpus: self.gpus or None, "--cpus-per-task": self.cpus}
        pairs |= {"--mem": self.memory, "--time": self.time}
        return [f"{name}={value}" for name, value in pairs.items() if value is not None] + list(self.options)


class Site(StrictMapping):
    """The content of a site file.

    Attributes:
        python: the interpreter on the cluster's nodes; None for the one that submits.
        default: of every stage; what ``stages`` says of one goes before.
    """

    python: str | None = None
    default: Resources = Resources()
    stages: dict[str, Resources] = Field(default_factory=dict)

    def of(self, stage: str) -> Resources:
        """Return the resources of a stage: its own, and the default ones for the rest."""
        settings = self.stages.get(stage, Resources()).model_dump(exclude_unset=True)
        return self.default.model_copy(update=settings)


def site(path: str | None = None) -> Site:
    """Read the site file of ``--site``, else of REPRO_SITE; without one everything is left to the cluster.

    Raises:
        UsageError: it names a stage that does not exist, or is not there.
        ManifestError: it is not YAML of this shape; says file and line.
    """
    name = path or os.environ.get("REPRO_SITE")
    if not name:
        return Site()
    file = Path(name).expanduser()
    if not file.is_file():
        raise UsageError(f"the site file {str(file)!r} is not there; give another with --site or REPRO_SITE")
    content = yaml_file.read(file, Site, as_text=True)
    check_known("stage", *content.stages, valid=STAGES)
    return content


@dataclass(frozen=True)
class Job:
    """A submitted stage, a task of an array, or all tasks that are shards of one stage.

    Attributes:
        state: queued, running, done, failed, or cancelled (as what waits for a failed one is).
        slurm: Slurm's own word for it, in lower case; "unknown" once Slurm has forgotten the job.
        log: the file of its output.
        tasks: the tasks of a stage in shards; its own state is that of the worst of them.
    """

    id: str
    state: str
    slurm: str
    log: Path
    tasks: tuple["Job", ...] = ()

    @property
    def standing(self) -> tuple[str, ...]:
        """The ids of what is queued or running of it."""
        return tuple(job.id for job in self.tasks or (self,) if job.state in ("queued", "running"))


@dataclass(frozen=True)
class _Note:
    """The ids that a node was submitted as, and the file of their output, %a for the number of a task."""

    ids: tuple[str, ...]
    log: Path

    def log_of(self, id: str) -> Path:
        return self.log.with_name(self.log.name.replace("%a", id.partition("_")[2]))


def note(store: Store, node: Node, ids: Iterable[str], log: Path) -> None:
    """Remember the job, task or tasks that build a node, and the file of their output."""
    path = _path(store, node)
    with translated_errors(store.root):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"jobs": list(ids), "log": log.name}))


def logs(store: Store) -> Path:
    """Return the folder into which jobs write their output."""
    return store.root / "slurm"


def log(store: Store, node: Node, *, array: bool = False) -> Path:
    """Return the file of a job's output; ``array``: of each task of an array whose first node it is."""
    number = ".%a" if array else ""
    return logs(store) / f"{node.stage}-{node.fingerprint[:12]}{number}.log"


def jobs(store: Store, nodes: Iterable[Node]) -> dict[str, Job]:
    """Return, by fingerprint, the job last submitted for each of those nodes that have one.

    Raises:
        UsageError: jobs were submitted, and Slurm cannot be asked.
    """
    notes = {node.fingerprint: _read_note(_path(store, node)) for node in nodes}
    return _states({fingerprint: note for fingerprint, note in notes.items() if note})


def waiting_fingerprints(store: Store) -> set[str]:
    """Return what jobs are queued or running for; where Slurm cannot be asked, all that were submitted."""
    notes = {path.stem: note for path in store.root.glob("slurm/*.json") if (note := _read_note(path))}
    try:
        return {fingerprint for fingerprint, job in _states(notes).items() if job.standing}
    except UsageError:
        return set(notes)


def _states(notes: Mapping[str, _Note]) -> dict[str, Job]:
    """Return jobs with their states by the fingerprint of what was submitted."""
    if not notes:
        return {}
    words = _squeue()
    words |= _sacct([id for note in notes.values() for id in note.ids if id not in words])
    return {fingerprint: _combined_job(note, words) for fingerprint, note in notes.items()}


def _combined_job(note: _Note, words: Mapping[str, str]) -> Job:
    """Return the job of a note; the worst of several tasks is given for all."""
    tasks = [_job(id, words.get(id, "UNKNOWN"), note.log_of(id)) for id in note.ids]
    worst = min(tasks, key=lambda job: WORST_FIRST.index(job.state))
    return worst if len(tasks) == 1 else replace(worst, tasks=tuple(tasks))


def _path(store: Store, node: Node) -> Path:
    return logs(store) / f"{node.fingerprint}.json"


def _read_note(path: Path) -> _Note | None:
    """Read the note of what a node was submitted as; None without a readable one."""
    try:
        entry = json.loads(path.read_text())
        ids = tuple(map(str, entry["jobs"] if "jobs" in entry else [entry["job"]]))  # a note of one job alone
        log = Path(entry.get("log", f"{path.stem}.log"))
        return _Note(ids, path.with_name(log.name)) if ids else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _job(id: str, word: str, log: Path) -> Job:
    word = word.split()[0].rstrip("+")  # sacct says "CANCELLED by 1000"
    states = dict.fromkeys(WAITING, "queued") | dict.fromkeys(GOING_ON, "running")
    states |= {"COMPLETED": "done", "CANCELLED": "cancelled"}
    return Job(id, states.get(word, "failed"), word.lower(), log)


def _squeue() -> dict[str, str]:
    """Return states by job id, of all that the controller knows, those that ended a little while ago too."""
    if shutil.which("squeue") is None:
        raise UsageError("stages were submitted to Slurm, and squeue is not on PATH; ask where Slurm is")
    answer = _run(["squeue", "--array", "--noheader", "--states=all", "--format=%i|%T"])
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UsageError(f"squeue does not answer ({reason}); try again when the cluster does")
    return _parse_states(answer.stdout)


def _sacct(ids: list[str]) -> dict[str, str]:
    """Return states by job id from the accounting, where there is one."""
    if not ids or shutil.which("sacct") is None:
        return {}
    command = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID,State"]
    answer = _run([*command, f"--jobs={','.join(ids)}"])
    return _parse_states(answer.stdout) if answer.returncode == 0 else {}


def _parse_states(text: str) -> dict[str, str]:
    return dict(line.split("|", 1) for line in text.splitlines() if "|" in line and line.split("|", 1)[1])


def _run(command: list[str]) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", "no answer within a minute")
