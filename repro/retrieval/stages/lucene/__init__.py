"""Lucene behind a process boundary: BM25 indexing and search through pyserini, in a child that is followed.

A Java virtual machine that fails while it boots takes its process down without an exception, and pyserini
costs a second to import; so no caller loads either. ``__main__`` is the child.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from repro.errors import BlockedError, StageError
from repro.machine import jvm
from repro.progress import Progress

LOG = "lucene.log"


def call(action: str, arguments: dict, *, folder: Path, task: str, total: int, progress: Progress) -> dict:
    """Run ``index`` or ``search`` in a child process and return the facts it reports.

    ``arguments`` are what ``__main__`` documents for the action. All that Java prints goes to
    ``folder/lucene.log``. The child ends when this process does, however that comes about.

    Args:
        folder: existing directory for the log and, while the child runs, for its arguments.
        task, total: what to call the work on a progress bar, and its size (documents or queries).

    Raises:
        BlockedError: there is no Java 21.
        StageError: the child failed; the message holds the last telling line of the log and the log's path.
    """
    missing = jvm.missing_requirement()
    if missing is not None:
        raise BlockedError(*missing)
    arguments_file = folder / "lucene.json"
    arguments_file.write_text(json.dumps(arguments))
    with open(folder / LOG, "wb") as log:
        child = subprocess.Popen(
            # -P: a folder in which the user happens to stand must not shadow a dependency
            [sys.executable, "-P", "-m", "repro.retrieval.stages.lucene", action, str(arguments_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for us; the child notices that its standard input has closed
        )
        try:
            with progress.task(task, total) as advance:
                facts = _follow(child, advance)
            status = child.wait()
        finally:
            _end(child)
    if status != 0 or facts is None:
        raise StageError(f"Lucene failed to {action}: {_reason(folder / LOG, status)} (log: {folder / LOG})")
    arguments_file.unlink()
    return facts


def _follow(child: subprocess.Popen[str], advance: Callable[[int], object]) -> dict | None:
    """Read the child's lines, an integer for every step forward and one object at the end."""
    facts = None
    for line in child.stdout or ():
        message = json.loads(line)
        if isinstance(message, dict):
            facts = message
        else:
            advance(message)
    return facts


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()
    for pipe in filter(None, (child.stdin, child.stdout)):
        pipe.close()


def _environment() -> dict[str, str]:
    """Return this process' environment, with the chosen Java and this very copy of the package to import."""
    environment = dict(os.environ)
    environment.pop("JVM_PATH", None)  # would override JAVA_HOME
    if (java := jvm.runtime()) is not None:
        environment["JAVA_HOME"] = str(java.home)
    package_root = str(Path(__file__).resolve().parents[4])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
    return environment


def _reason(log: Path, status: int) -> str:
    """Say why the child failed: the signal that killed it, or the line of its log that says most."""
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
