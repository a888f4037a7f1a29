"""Stages in child processes: `python -m repro stage FINGERPRINT`, or workers."""

import contextlib
import functools
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from repro.graph import Node
from repro.locations import CHECKOUT
from repro.running.requirements import Obstacle
from repro.store import Store, disk, translated_errors

WATCHES = "REPRO_STAGE_WATCHES_STDIN"  # set if a stage ends with its engine
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10  # seconds before SIGKILL


def command(node: Node, store: Store, *, processes: int = 1) -> list[str]:
    return [*stage_command(store, processes=processes), node.fingerprint]


def stage_command(store: Store, *, processes: int = 1) -> list[str]:
    """Return the command that builds artefacts. Their fingerprints follow as arguments."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    launcher = torchrun if processes > 1 else []
    return [sys.executable, "-P", *launcher, "-m", "repro", "--store", str(store.root), "stage"]


def import_path() -> str:
    """Return PYTHONPATH for a child: the checkout, if repro runs from one, then the user's folders."""
    checkout = [str(CHECKOUT)] if (CHECKOUT / "pyproject.toml").is_file() else []
    user_paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join(dict.fromkeys([*checkout, *user_paths]))


@functools.cache
def _lifeline() -> int:
    return os.pipe()[0]


def end_with_parent() -> None:
    """Kill this process group when standard input closes, if a ``Child`` started it."""
    if os.environ.pop(WATCHES, None) is None:
        return
    watched_pipe, null_device = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)

    def watch() -> None:
        while os.read(watched_pipe, 1024):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def environment(threads: int, more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a stage. The user's OMP_NUM_THREADS overrides ``threads``."""
    settings = {"PYTHONPATH": import_path(), "PYTHONSAFEPATH": "1", **more}
    return {"OMP_NUM_THREADS": str(threads), **os.environ, **settings}


def new_log(node: Node, store: Store) -> Path:
    """Create the file for a stage's messages, e.g. `<log>.4711.err`, and return it."""
    log = store.log(node).with_suffix(f".{os.getpid()}.err")
    with translated_errors(store.root):
        log.parent.mkdir(parents=True, exist_ok=True)
        disk.create_file(log, "xb").close()
    return log


def result_of(node: Node, status: int, log: Path, *, processes: int = 1) -> str | Obstacle | None:
    """Return None for status 0, otherwise the error or obstacle in ``log``. May remove the log."""
    if status == 0:
        log.unlink(missing_ok=True)
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    sentences = [line.removeprefix("repro: ") for line in lines if line.startswith("repro: ")]
    if sentences and (status in (2, 3, 4) or processes > 1):  # torchrun has another status
        log.unlink(missing_ok=True)
        cause, _, remedy = sentences[-1].partition("; ")
        return Obstacle(cause, remedy) if status == 4 else sentences[-1]
    ending = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    hint = ", perhaps out of memory," if status == -signal.SIGKILL else ""
    return f"stage {node} {ending}{hint} without a message (log: {log})"


class Child:
    """A running stage in its own process. It sees only ``gpus``, or all if that is None."""

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
                start_new_session=True,  # Ctrl-C stops at the engine
            )

    def ended(self) -> bool:
        return self.process.poll() is not None

    def result(self) -> str | Obstacle | None:
        return result_of(self.node, self.process.returncode, self.log, processes=self.processes)


def stop(children: Iterable["Child | WorkerStage | _Worker"]) -> None:
    """End processes and their children by SIGTERM, and after ten seconds by SIGKILL."""
    processes = [child.process for child in children]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        deadline = time.monotonic() + PATIENCE
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, deadline - time.monotonic()))


class _Worker:
    def __init__(self, store: Store, *, threads: int):
        self.process = subprocess.Popen(
            [*stage_command(store), "-"],
            env=environment(threads, {WATCHES: "1"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout
        self._orders, self.answers = self.process.stdin, self.process.stdout
        os.set_blocking(self.answers.fileno(), False)

    def order(self, fingerprint: str, log: os.PathLike) -> None:
        self._orders.write(f"{fingerprint} {os.fspath(log)}\n".encode())
        self._orders.flush()

    def answer(self) -> int | None:
        line = self.answers.readline()
        return int(line) if line else self.process.poll()


class WorkerStage:
    """A stage that runs in a worker, with the methods of ``Child``."""

    gpus = None

    def __init__(self, node: Node, store: Store, worker: _Worker):
        self.node, self.worker, self.process = node, worker, worker.process
        self.log, self.status = new_log(node, store), 0
        try:
            worker.order(node.fingerprint, self.log)
        except BrokenPipeError:
            worker.process.wait()

    def ended(self) -> bool:
        status = self.worker.answer()
        self.status = status or 0
        return status is not None

    def result(self) -> str | Obstacle | None:
        return result_of(self.node, self.status, self.log)


def wait_for_answers(children: Iterable[Child | WorkerStage], seconds: float) -> None:
    answers = [child.worker.answers for child in children if isinstance(child, WorkerStage)]
    select.select(answers, [], [], seconds)


class Workers:
    def __init__(self, store: Store, *, threads: int):
        self._store, self._threads = store, threads
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []

    def begin(self, node: Node) -> WorkerStage:
        while self._idle:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                return WorkerStage(node, self._store, worker)
        worker = _Worker(self._store, threads=self._threads)
        self._all.append(worker)
        return WorkerStage(node, self._store, worker)

    def release(self, child: WorkerStage | Child) -> None:
        if isinstance(child, WorkerStage):
            self._idle.append(child.worker)

    def close(self) -> None:
        stop([worker for worker in self._all if worker.process.poll() is None])


def serve(build: Callable[[str], int]) -> None:
    """Run as a worker: call ``build`` for each line "FINGERPRINT LOG" of input, and write its status."""
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    source, answers, null_device = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(null_device, 0)
    os.dup2(null_device, 1)
    os.environ.pop(WATCHES, None)

    def listen() -> None:
        with open(source, "rb") as lines:
            for line in lines:
                orders.put(line)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        fingerprint, _, log = os.fsdecode(orders.get()).rstrip("\n").partition(" ")
        messages = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        os.dup2(messages, 2)
        os.close(messages)
        status = build(fingerprint)
        sys.stderr.flush()
        os.dup2(null_device, 2)
        os.write(answers, b"%d\n" % status)


@contextlib.contextmanager
def interruptions() -> Iterator[list[int]]:
    """Collect the signals received until the block ends, except those ignored before."""
    signals: list[int] = []
    handlers = {n: signal.getsignal(n) for n in INTERRUPTIONS}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: signals.append(number))
    try:
        yield signals
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
