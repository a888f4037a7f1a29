"""BM25 indexing and search with Lucene through pyserini, in a child process.

A Java virtual machine that fails while booting ends its process without an exception, and importing pyserini
takes a second. Therefore only the child, ``__main__``, loads them. It stays alive for a while, e.g. for the
searches after an index, as starting Java and pyserini takes longer than searching a small collection.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from repro.errors import BlockedError, StageError
from repro.machine import system
from repro.progress import Progress

CHILD = "repro.retrieval.stages.lucene.__main__"  # the module of the process, part of the stage's code
LOG = "lucene.log"
REST = 20  # seconds without an order after which a child ends, whose memory others may need
USABLE = 15  # seconds in which it certainly has not


def call(action: str, arguments: dict, *, folder: Path, task: str, total: int, progress: Progress) -> dict:
    """Have a child process ``index`` or ``search``, and return the facts that it reports.

    ``arguments`` are documented in ``__main__`` for each action. Java's output goes to ``folder/lucene.log``.
    The child ends with this process in any case.

    Args:
        folder: existing directory for the log.
        task, total: name of the work on a progress bar, and its size (documents or queries).

    Raises:
        BlockedError: there is no Java 21.
        StageError: the child failed. The message contains the most informative line of the log and its path.
    """
    missing = system.missing_java()
    if missing is not None:
        raise BlockedError(*missing)
    log = folder / LOG
    log.write_bytes(b"")
    child = _child(log)
    with contextlib.ExitStack() as stack:
        stack.callback(child.end)
        child.order({"action": action, "arguments": arguments, "log": str(log.resolve())})
        with progress.task(task, total) as advance:
            facts = child.follow(advance)
        if facts is None:
            raise StageError(f"Lucene failed to {action}: {_reason(log, child.process.wait())} (log: {log})")
        stack.pop_all()
    child.since = time.monotonic()
    _waiting.append(child)
    return facts


class _Child:
    """A process that executes one order at a time. It ends if an order fails, if none comes, and with its
    parent.

    Attributes:
        since: the time at which it began to wait.
    """

    def __init__(self, log: Path, environment: dict[str, str]):
        self.environment, self.since = environment, 0.0
        with open(log, "ab") as messages:
            self.process = subprocess.Popen(
                # -P: a folder in which the user happens to stand must not shadow a dependency
                [sys.executable, "-P", "-m", CHILD, str(REST)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=environment,
                start_new_session=True,  # Ctrl-C is for us; the child sees that its standard input has closed
            )

    def order(self, order: dict) -> None:
        assert self.process.stdin  # as it is a pipe
        with contextlib.suppress(BrokenPipeError):  # it is gone, as ``follow`` will tell
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def follow(self, advance: Callable[[int], object]) -> dict | None:
        """Call ``advance`` with each integer that the child prints, and return the object that ends an order,
        or None if the child ended."""
        for line in self.process.stdout or ():
            message = json.loads(line)
            if isinstance(message, dict):
                return message
            advance(message)
        return None

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in filter(None, (self.process.stdin, self.process.stdout)):
            with contextlib.suppress(BrokenPipeError):  # of an order that it did not read
                pipe.close()


_waiting: list[_Child] = []


def _child(log: Path) -> _Child:
    """Return a waiting child with this environment, which may name another Java, or a new one."""
    environment = _environment()
    while _waiting:
        child = _waiting.pop()
        is_there = child.process.poll() is None and time.monotonic() - child.since < USABLE
        if is_there and child.environment == environment:
            return child
        child.end()
    return _Child(log, environment)


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment.pop("JVM_PATH", None)  # would override JAVA_HOME
    if (java := system.java()) is not None:
        environment["JAVA_HOME"] = str(java.home)
    package_root = str(Path(__file__).resolve().parents[4])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
    return environment


def _reason(log: Path, status: int) -> str:
    """Return why the child failed: the signal that killed it, or the most informative line of its log."""
    if status < 0:
        name = signal.Signals(-status).name
        return f"killed by {name}" + (", often a sign of too little memory" if name == "SIGKILL" else "")
    lines = log.read_text(errors="replace").splitlines()[-400:]
    if any("No space left on device" in line for line in _statements(lines)):  # whatever else that led to
        return f"no space is left on the file system of {log.parent}"
    return _last_statement(lines) or f"it ended with status {status} and said nothing"


def _statements(lines: list[str]) -> list[str]:
    """Return lines of a log that are neither indented, as in a stack trace, nor mere information."""
    return [line.strip() for line in lines if line and not line[0].isspace() and " INFO " not in line]


def _last_statement(lines: list[str]) -> str:
    """Return the last statement about an error, else the last one."""
    errors = [line for line in _statements(lines) if "rror" in line or "xception" in line]
    return (errors or _statements(lines) or [""])[-1]
