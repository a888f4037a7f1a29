"""The caller of the child in which Lucene runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
    missing = jvm.missing()
    if missing is not None:
        raise BlockedError(*missing)
    written = folder / "lucene.json"
    written.write_text(json.dumps(arguments))
    with open(folder / LOG, "wb") as log:
        child = subprocess.Popen(
            # -P: a folder in which the user happens to stand must not shadow a dependency
            [sys.executable, "-P", "-m", "repro.stages.lucene", action, str(written)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for us; the child notices that its standard input has closed
        )
        try:
            facts = _follow(child, progress=progress, task=task, total=total)
            status = child.wait()
        finally:
            _end(child)
    if status != 0 or facts is None:
        raise StageError(f"Lucene failed to {action}: {_reason(folder / LOG, status)} (log: {folder / LOG})")
    written.unlink()
    return facts


def _follow(child: subprocess.Popen, *, progress: Progress, task: str, total: int) -> dict | None:
    """Read the child's lines, an integer for every step forward and one object at the end."""
    facts = None
    with progress.task(task, total) as advance:
        for line in child.stdout:
            message = json.loads(line)
            if isinstance(message, dict):
                facts = message
            else:
                advance(message)
    return facts


def _end(child: subprocess.Popen) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()
    child.stdin.close()
    child.stdout.close()


def _environment() -> dict[str, str]:
    """Ours, with the Java that was chosen and with this very copy of the package importable."""
    environment = dict(os.environ)
    environment.pop("JVM_PATH", None)  # would override JAVA_HOME
    environment["JAVA_HOME"] = str(jvm.runtime().home)
    package_root = str(Path(__file__).resolve().parents[3])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
    return environment


def _reason(log: Path, status: int) -> str:
    """The line of the log that says most: the last about an error, else the last that is not indented."""
    if status < 0:
        name = signal.Signals(-status).name
        return f"killed by {name}" + (", often a sign of too little memory" if name == "SIGKILL" else "")
    lines = log.read_text(errors="replace").splitlines()[-400:]
    speaking = [line.strip() for line in lines if line and not line[0].isspace() and " INFO " not in line]
    if any("No space left on device" in line for line in speaking):  # whatever else that led to
        return f"no space is left on the file system of {log.parent}"
    telling = [line for line in speaking if "rror" in line or "xception" in line]
    return (telling or speaking or [f"it ended with status {status} and said nothing"])[-1]
