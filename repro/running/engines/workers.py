"""Processes that stay for many stages: what libraries take to load and to compile is paid once by each."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from repro.graph import Node
from repro.running.engines.child import WATCHES, Child, environment, new_log, result_of, stop
from repro.running.requirements import Obstacle
from repro.store import Store


def command(store: Store) -> list[str]:
    """The command of a process that builds, one after another, what its standard input names."""
    return [sys.executable, "-P", "-m", "repro", "stage", "-", "--store", str(store.root)]


class _Worker:
    """A process that takes a fingerprint and a log at a time, and answers with an exit status."""

    def __init__(self, store: Store, *, threads: int):
        self.process = subprocess.Popen(
            command(store),
            env=environment(threads, {WATCHES: "1"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches the engine alone, which ends the others
        )
        os.set_blocking(self.process.stdout.fileno(), False)

    def order(self, fingerprint: str, log: os.PathLike) -> None:
        self.process.stdin.write(f"{fingerprint} {os.fspath(log)}\n".encode())
        self.process.stdin.flush()

    def answer(self) -> int | None:
        """The exit status of the order, of the whole process where that ended, None before."""
        line = self.process.stdout.readline()
        return int(line) if line else self.process.poll()


class WorkerStage:
    """A stage that a worker carries out; used as a ``Child`` is."""

    gpus = None

    def __init__(self, node: Node, store: Store, worker: _Worker):
        self.node, self.worker, self.process = node, worker, worker.process
        self.log, self.status = new_log(node, store), None
        try:
            worker.order(node.fingerprint, self.log)
        except BrokenPipeError:
            worker.process.wait()  # it is gone, as its status says

    def ended(self) -> bool:
        self.status = self.worker.answer()
        return self.status is not None

    def result(self) -> str | Obstacle | None:
        """The result of the stage, as ``Child.result`` has it."""
        return result_of(self.node, self.status, self.log)


class Workers:
    """The processes of a run, as many as there were stages at once; each goes on to the next stage.

    Args:
        threads: of numerical libraries, in each.
    """

    def __init__(self, store: Store, *, threads: int):
        self._store, self._threads = store, threads
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []

    def begin(self, node: Node) -> WorkerStage:
        """The node's stage in an idle process, a new one where all are busy."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                return WorkerStage(node, self._store, worker)
        worker = _Worker(self._store, threads=self._threads)
        self._all.append(worker)
        return WorkerStage(node, self._store, worker)

    def release(self, child: WorkerStage | Child) -> None:
        """Take back the process of a stage that ended."""
        if isinstance(child, WorkerStage):
            self._idle.append(child.worker)

    def close(self) -> None:
        """End all processes, and what they started."""
        stop([worker for worker in self._all if worker.process.poll() is None])


def serve(build: Callable[[str], int]) -> None:
    """Build, as a worker process, what standard input names, until the engine closes it or is gone.

    Args:
        build: builds the artefact of a fingerprint and returns an exit status; what it says goes to the log.
    """
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    source, answers, null_device = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(null_device, 0)
    os.dup2(null_device, 1)
    os.environ.pop(WATCHES, None)

    def listen() -> None:
        with open(source, "rb") as lines:
            for line in lines:
                orders.put(line)
        os.killpg(0, signal.SIGKILL)  # what was written lies in the partial directory, as after any end

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
