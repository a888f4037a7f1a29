"""BM25 indexing and search with Lucene through pyserini, in a child process (``__main__``).

A Java virtual machine that fails to boot ends its process without an exception. The child is reused for
some seconds, because Java starts slowly.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from repro.errors import BlockedError, StageError
from repro.machine import system
from repro.progress import Progress

CHILD = "repro.retrieval.stages.lucene.__main__"  # part of the stage's code
LOG = "lucene.log"
REST = 20  # seconds without an order until a child ends
USABLE = 15  # seconds in which it has not


def call(action: str, arguments: dict, *, folder: Path, task: str, total: int, progress: Progress) -> dict:
    """Let a child process execute ``action``, ``index`` or ``search``, and return its facts.

    ``__main__`` documents the ``arguments``. Java's output goes to ``folder/lucene.log``. Raises BlockedError
    without Java 21, StageError with a line of the log if the child failed.
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
    def __init__(self, log: Path, environment: dict[str, str]):
        self.environment, self.since = environment, 0.0
        with open(log, "ab") as messages:
            self.process = subprocess.Popen(
                # -P: the working directory must not shadow a dependency
                [sys.executable, "-P", "-m", CHILD, str(REST)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=environment,
                start_new_session=True,  # no Ctrl-C: it ends with its standard input
            )

    def order(self, order: dict) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def follow(self, advance: Callable[[int], object]) -> dict | None:
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
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


_waiting: list[_Child] = []


def _child(log: Path) -> _Child:
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
    if status < 0:
        name = signal.Signals(-status).name
        return f"killed by {name}" + (", often a sign of too little memory" if name == "SIGKILL" else "")
    text = log.read_text(errors="replace")
    if "No space left on device" in text:
        return f"no space is left on the file system of {log.parent}"
    lines = re.findall(r"^(?!.* INFO )\S.*", text, re.MULTILINE)  # no stack traces
    errors = [line for line in lines if re.search("rror|xception", line)]
    return (errors or lines or [f"it ended with status {status} without a message"])[-1].strip()
