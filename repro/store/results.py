"""Records of measured cells, one line a cell, seed and fingerprint, which are appended and never changed."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from repro.errors import DataError
from repro.store import make_writable, translated


@dataclass(frozen=True)
class Record:
    """One measured cell.

    Attributes:
        cell: the cell's path.
        measured: the value in the unit of the published one, unrounded.
        seed: the user's seed; None means the paper's own.
        fingerprint: of the evaluation (or of the evaluations averaged).
        readings: choices in force that are not the default.
        substitutes: readings whose original data was not at hand, and why.
        queries: queries averaged over; ``missing`` of them were not in the run and count as 0.
        environment: commit, versions and hardware of the process that recorded it.
        origin: of somebody else's run: kind (import), file, sha256, source, tag; empty for the suite's own.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # for reading back

    cell: str
    scale: str
    measured: float
    seed: int | None
    fingerprint: str
    queries: int
    missing: int
    readings: dict[str, str] = field(default_factory=dict)
    substitutes: dict[str, str] = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    recorded: str = ""
    origin: dict = field(default_factory=dict)

    @property
    def key(self) -> tuple:
        """Two records with equal keys say the same thing."""
        return self.cell, self.scale, self.seed, self.fingerprint


_FOLDER = "results folder", "--results"
_LINE = TypeAdapter(Record)


class Results:
    """A folder of records, ``records/<scale>/<paper>.jsonl``."""

    def __init__(self, root: Path):
        self.root = root

    def path(self, scale: str, paper: str) -> Path:
        """The file that holds a paper's records at one scale."""
        return self.root / "records" / scale / f"{paper}.jsonl"

    def make_writable(self) -> None:
        """Raise StoreError, before anything is measured, where no record could be written."""
        make_writable(self.root, *_FOLDER)

    def read(self, scale: str, paper: str) -> list[Record]:
        """Records in the order they were made.

        A last line without its end is the trace of a process that was killed while writing: it is left out.

        Raises:
            DataError: any other line that is not a record; names file and line.
        """
        path = self.path(scale, paper)
        try:
            with translated(self.root, *_FOLDER):
                *lines, _unfinished = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        records = []
        for number, line in enumerate(lines, 1):
            try:
                records.append(_LINE.validate_json(line))
            except ValidationError as error:
                first = error.errors()[0]
                where = "".join(f"{part}: " for part in first["loc"])
                raise DataError(f"{path}:{number}: not a record: {where}{first['msg']}") from None
        return records

    def append(self, records: Iterable[Record]) -> int:
        """Add the records that are not there yet; returns how many. Safe between processes."""
        by_file: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            by_file.setdefault((record.scale, record.cell.split("/")[0]), []).append(record)
        return sum(self._append(*place, group) for place, group in by_file.items())

    def _append(self, scale: str, paper: str, group: list[Record]) -> int:
        from filelock import FileLock

        path = self.path(scale, paper)
        with translated(self.root, *_FOLDER):
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                known = {r.key for r in self.read(scale, paper)}
                fresh = [r for r in group if r.key not in known]
                if fresh:
                    _write(path, "".join(json.dumps(asdict(r), sort_keys=True) + "\n" for r in fresh))
        return len(fresh)


def _write(path: Path, text: str) -> None:
    """Append whole lines, after removing an unfinished last one that a killed writer left."""
    with path.open("a+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        kept = stream.read().rfind(b"\n") + 1
        if kept < end:
            stream.truncate(kept)
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())
