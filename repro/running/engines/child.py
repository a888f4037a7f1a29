"""A stage as a process of its own: ``python -m repro stage FINGERPRINT``, and its result."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import repro
from repro.graph import Node
from repro.running.requirements import Obstacle
from repro.store import Store, translated_errors
from repro.store.disk import create_file

WATCHES = "REPRO_STAGE_WATCHES_STDIN"  # in the environment of a stage that is to end with its engine
PATIENCE = 10  # seconds between asking a process to end and ending it


def command(node: Node, store: Store, python: str = sys.executable, *, processes: int = 1) -> list[str]:
    """The command that builds one artefact whose inputs are stored; several processes run under torchrun."""
    return stage_command(node.fingerprint, store, python, launcher(processes) if processes > 1 else ())


def stage_command(fingerprint: str, store: Store, python: str, launched: Sequence[str] = ()) -> list[str]:
    """The command that builds the artefact of a fingerprint, by a launcher where there is one.

    -P: no module of the working folder is imported; for what torchrun starts PYTHONSAFEPATH says so.
    """
    return [python, "-P", *launched, "-m", "repro", "stage", fingerprint, "--store", str(store.root)]


def launcher(processes: int, meeting: Sequence[str] = ("--standalone",)) -> list[str]:
    """torchrun with ``processes`` on each machine; ``meeting`` says how several machines find each other."""
    return ["-m", "torch.distributed.run", *meeting, f"--nproc-per-node={processes}"]


def import_path() -> str:
    """PYTHONPATH with which a child finds this very program, from whatever folder it is started.

    An installed program is found without: its folder holds the packages of one Python, no other may see them.
    """
    folder = Path(repro.__file__).resolve().parents[1]
    checkout = [str(folder)] if (folder / "pyproject.toml").is_file() else []
    user_paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join(dict.fromkeys([*checkout, *user_paths]))


@functools.cache
def _lifeline() -> int:
    """The end for reading of a pipe into which nothing is written, and which closes with this process."""
    return os.pipe()[0]


def end_with_parent() -> None:
    """End a stage that a ``Child`` started, with all that it started, when the engine is gone.

    However that ended: killed, it could not have ended its stages itself. Under torchrun each process of the
    stage watches for itself. Standard input, the pipe by which that is seen, is empty from here on.
    """
    if os.environ.pop(WATCHES, None) is None:
        return
    watched_pipe, null_device = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)

    def watch() -> None:
        while os.read(watched_pipe, 1024):
            pass
        os.killpg(0, signal.SIGKILL)  # what was written lies in the partial directory, as after any end

    threading.Thread(target=watch, daemon=True).start()


def environment(threads: int, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that carries out stages; what the user's says of threads goes first."""
    settings = {"PYTHONPATH": import_path(), "PYTHONSAFEPATH": "1", **more}
    return {"OMP_NUM_THREADS": str(threads), **os.environ, **settings}


def new_log(node: Node, store: Store) -> Path:
    """An empty file of this process for what the node's stage says; never one that was there before."""
    log = store.log(node).with_suffix(f".{os.getpid()}.err")
    with translated_errors(store.root):
        log.parent.mkdir(parents=True, exist_ok=True)
        create_file(log, "xb").close()
    return log


def result_of(node: Node, status: int, log: Path, *, processes: int = 1) -> str | Obstacle | None:
    """None when a stage with this exit status stored its artefact, else a sentence, or an obstacle."""
    if status == 0:
        log.unlink(missing_ok=True)
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    sentences = [line.removeprefix("repro: ") for line in lines if line.startswith("repro: ")]
    if sentences and (status in (2, 3, 4) or processes > 1):  # torchrun has a status of its own
        log.unlink(missing_ok=True)
        cause, _, remedy = sentences[-1].partition("; ")
        return Obstacle(cause, remedy) if status == 4 else sentences[-1]
    ending = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    hint = ", as happens where memory runs out," if status == -signal.SIGKILL else ""
    return f"stage {node} {ending}{hint} without a word (log: {log})"


class Child:
    """A running stage; its standard error is kept in ``log`` for as long as it may be of use.

    Args:
        threads: of numerical libraries; what the user's environment says goes first.
        gpus: the only GPUs it may see, none of them if there are none; None changes nothing.
        processes: that carry it out.
    """

    def __init__(
        self, node: Node, store: Store, *, threads: int, gpus: Sequence[str] | None, processes: int = 1
    ):
        self.node, self.gpus, self.processes = node, gpus, processes
        self.log = new_log(node, store)
        variables = {} if gpus is None else {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}
        with translated_errors(store.root), open(self.log, "ab") as errors:
            self.process = subprocess.Popen(
                command(node, store, processes=processes),
                env=environment(threads, {WATCHES: "1", **variables}),
                stdin=_lifeline(),
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others
            )

    def ended(self) -> bool:
        return self.process.poll() is not None

    def result(self) -> str | Obstacle | None:
        """None when the stage that ended stored its artefact, else a sentence, or an obstacle."""
        return result_of(self.node, self.process.returncode, self.log, processes=self.processes)


def stop(children: Sequence[Child]) -> None:
    """End them and what they started, all at once; what they had written lies in partial directories."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.process.pid, number)
        deadline = time.monotonic() + PATIENCE
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0, deadline - time.monotonic()))
