"""The jobs that were submitted: their ids lie in the store, their states come from Slurm."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.store import Store, translated_errors
from repro.store.disk import write_whole

GOING_ON = {"RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SUSPENDED", "STOPPED", "SIGNALING"}
WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING"}


WORST_FIRST = ("failed", "running", "queued", "cancelled", "done")


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
    """The folder into which jobs write their output."""
    return store.root / "slurm"


def log(store: Store, node: Node, *, array: bool = False) -> Path:
    """The file of the output of a node's job; ``array``: of each task of an array whose first node it is."""
    number = ".%a" if array else ""
    return logs(store) / f"{node.stage}-{node.fingerprint[:12]}{number}.log"


def jobs(store: Store, nodes: Iterable[Node]) -> dict[str, Job]:
    """Fingerprint -> the job last submitted for it, of those nodes that have one.

    Raises:
        UsageError: jobs were submitted, and Slurm cannot be asked.
    """
    return _states(
        {
            node.fingerprint: submission
            for node in nodes
            if (submission := _read_submission(_path(store, node)))
        }
    )


def waiting_fingerprints(store: Store) -> set[str]:
    """Fingerprints whose jobs are queued or running; where Slurm cannot be asked, all that were submitted."""
    submissions = {
        path.stem: submission
        for path in store.root.glob("slurm/*.json")
        if (submission := _read_submission(path))
    }
    try:
        return {fingerprint for fingerprint, job in _states(submissions).items() if job.standing}
    except UsageError:
        return set(submissions)


def _states(submissions: dict[str, _Note]) -> dict[str, Job]:
    """Fingerprint -> job with its state, for fingerprint -> what was submitted."""
    if not submissions:
        return {}
    words = _squeue()
    ids = [id for submission in submissions.values() for id in submission.ids]
    words |= _sacct([id for id in ids if id not in words])
    return {fingerprint: _combined_job(submission, words) for fingerprint, submission in submissions.items()}


def _combined_job(submission: _Note, words: dict[str, str]) -> Job:
    """The job of a note; of several tasks the worst stands for all."""
    tasks = [_job(id, words.get(id, "UNKNOWN"), submission.log_of(id)) for id in submission.ids]
    worst = min(tasks, key=lambda job: WORST_FIRST.index(job.state))
    return worst if len(tasks) == 1 else replace(worst, tasks=tuple(tasks))


def _path(store: Store, node: Node) -> Path:
    return store.root / "slurm" / f"{node.fingerprint}.json"


def _read_submission(path: Path) -> _Note | None:
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
    if word in WAITING:
        state = "queued"
    elif word in GOING_ON:
        state = "running"
    else:
        state = {"COMPLETED": "done", "CANCELLED": "cancelled"}.get(word, "failed")
    return Job(id, state, word.lower(), log)


def _squeue() -> dict[str, str]:
    """Job id -> state, of all jobs that the controller knows, those that ended a little while ago too."""
    if shutil.which("squeue") is None:
        raise UsageError("stages were submitted to Slurm, and squeue is not on PATH; ask where Slurm is")
    answer = _run(["squeue", "--array", "--noheader", "--states=all", "--format=%i|%T"])
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UsageError(f"squeue does not answer ({reason}); try again when the cluster does")
    return _parse_states(answer.stdout)


def _sacct(ids: list[str]) -> dict[str, str]:
    """Job id -> state from the accounting, where there is one."""
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
