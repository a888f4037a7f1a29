"""The file in which the jobs of ``gpu.py`` keep their rows: a line of JSON for each thing that happened.

A job's process adds a row as soon as it has one, and a last line when it has ended, so that what is killed
loses nothing but the row that it was at. A row counts until its job has another of the same name; one that
says that something failed, until its job begins again.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

ERROR = re.compile(r"^(\w[\w.]*(?:Error|Exception|Exit|Interrupt|OutOfMemory|Failure)\w*)(?::|$)")


NAMES = ("work", "tool", "compared")  # what a row is of


class Results:
    """The rows of all jobs and which of them ended, kept in ``path``.

    Attributes:
        path: the file.
        rows: of each job, one of each name.
        ended: the jobs that came to their end.
    """

    def __init__(self, path: Path):
        self.path = path
        self.read()

    def read(self) -> None:
        """Take up what processes have added; a line that was cut off counts for nothing."""
        self.rows: dict[str, list[dict]] = {}
        self.ended: set[str] = set()
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            try:
                known = json.loads(line)
            except ValueError:
                continue
            rows = self.rows.setdefault(known["job"], [])
            if known["what"] == "began":
                rows[:] = [row for row in rows if "failed" not in row]
                self.ended.discard(known["job"])
            elif known["what"] == "row":
                same = [place for place, row in enumerate(rows) if named(row) == named(known["row"])]
                place = same[0] if same else len(rows)
                rows[place : place + 1] = [known["row"]]
            elif known["what"] == "ended":
                self.ended.add(known["job"])

    def measured(self, job: str) -> set[tuple[str, str]]:
        """The work and the tool of each rate that a job has."""
        return {(row["work"], row["tool"]) for row in self.rows.get(job, ()) if "tool" in row}

    def add(self, job: str, what: str, **more: object) -> None:
        """Add a line, on the disk before this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")  # behind a line that was cut off
            file.write(json.dumps({"job": job, "what": what} | more).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def is_done(self, job: str) -> bool:
        """Whether a job ended and none of its rows says that ours failed."""
        return job in self.ended and not any("failed" in row for row in self.rows[job])


def named(row: dict) -> tuple:
    """The name of a row among its job's."""
    return tuple(row.get(name) for name in NAMES)


def told_error(stderr: str, status: int) -> str:
    """Why a process ended: the signal that ended it, or the last error that it printed, with what it says.

    Behind a signal stands that error too, which may have been caught.
    """
    lines = stderr.strip().splitlines()
    errors = [line for line in lines if ERROR.match(line)]
    if status < 0:
        return f"ended by signal {-status}{'; its last error: ' * bool(errors)}{''.join(errors[-1:])[:300]}"
    if errors:
        return errors[-1][:300]
    return lines[-1][:300] if lines else f"exit status {status}, without a word"
