"""The jobs that were submitted: their ids lie in the store, their states come from Slurm."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.store import Store, translated
from repro.store.disk import created

GOING_ON = {"RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SUSPENDED", "STOPPED", "SIGNALING"}
WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING"}


@dataclass(frozen=True)
class Job:
    """A submitted stage.

    Attributes:
        state: queued, running, done, failed, or cancelled (as what waits for a failed one is).
        slurm: Slurm's own word for it, in lower case; "unknown" once Slurm has forgotten the job.
    """

    id: str
    state: str
    slurm: str


def note(store: Store, node: Node, job: str) -> None:
    """Remember the job that builds a node."""
    path = _note(store, node)
    with translated(store.root):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".new")
        with created(scratch) as file:
            json.dump({"job": job}, file)
        scratch.replace(path)


def log(store: Store, node: Node) -> Path:
    """The file into which a node's job writes its output."""
    return store.root / "slurm" / f"{node.stage}-{node.fingerprint[:12]}.log"


def jobs(store: Store, nodes: Iterable[Node]) -> dict[str, Job]:
    """Fingerprint -> the job last submitted for it, of those nodes that have one.

    Raises:
        UsageError: jobs were submitted, and Slurm cannot be asked.
    """
    return _states({node.fingerprint: id for node in nodes if (id := _submitted(_note(store, node)))})


def waiting(store: Store) -> set[str]:
    """Fingerprints whose jobs are queued or running; where Slurm cannot be asked, all that were submitted."""
    submitted = {path.stem: id for path in store.root.glob("slurm/*.json") if (id := _submitted(path))}
    try:
        return {one for one, job in _states(submitted).items() if job.state in ("queued", "running")}
    except UsageError:
        return set(submitted)


def _states(submitted: dict[str, str]) -> dict[str, Job]:
    """Fingerprint -> job with its state, for fingerprint -> id of a job."""
    if not submitted:
        return {}
    words = _squeue()
    words |= _sacct([id for id in submitted.values() if id not in words])
    return {fingerprint: _job(id, words.get(id, "UNKNOWN")) for fingerprint, id in submitted.items()}


def _note(store: Store, node: Node) -> Path:
    return store.root / "slurm" / f"{node.fingerprint}.json"


def _submitted(path: Path) -> str | None:
    """The id of the job that a node was submitted as; None without a readable note of one."""
    try:
        return str(json.loads(path.read_text())["job"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _job(id: str, word: str) -> Job:
    word = word.split()[0].rstrip("+")  # sacct says "CANCELLED by 1000"
    if word in WAITING:
        state = "queued"
    elif word in GOING_ON:
        state = "running"
    else:
        state = {"COMPLETED": "done", "CANCELLED": "cancelled"}.get(word, "failed")
    return Job(id, state, word.lower())


def _squeue() -> dict[str, str]:
    """Job id -> state, of all jobs that the controller knows, those that ended a little while ago too."""
    if shutil.which("squeue") is None:
        raise UsageError("stages were submitted to Slurm, and squeue is not on PATH; ask where Slurm is")
    answer = _run(["squeue", "--noheader", "--states=all", "--format=%i|%T"])
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UsageError(f"squeue does not answer ({reason}); try again when the cluster does")
    return _pairs(answer.stdout)


def _sacct(ids: list[str]) -> dict[str, str]:
    """Job id -> state from the accounting, where there is one."""
    if not ids or shutil.which("sacct") is None:
        return {}
    command = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID,State"]
    answer = _run([*command, f"--jobs={','.join(ids)}"])
    return _pairs(answer.stdout) if answer.returncode == 0 else {}


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split("|", 1) for line in text.splitlines() if "|" in line and line.split("|", 1)[1])


def _run(command: list[str]) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", "no answer within a minute")
