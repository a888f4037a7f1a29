"""Append and read the records of measured cells, e.g. ``results/records/full/PAPER.jsonl``.

A record is a JSON line with its own sha256. Of records with the same key, the newest counts.
"""

import contextlib
import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from repro.errors import DataError
from repro.graph import digest_of, grouped
from repro.machine.file_cache import kept
from repro.machine.versions import check_commits, check_environment, unlike_here
from repro.store import disk, make_writable, translated_errors
from repro.version import DIRTY

DIGEST = "sha256"
RETIRED = ("assumed", "unchecked")  # empty in committed lines
LARGEST = {"fraction": 1, "percent": 100}
CLOCKS_DIFFER = timedelta(days=1)
DESCRIPTION = ("source", "toolkit", "settings")


Identity = tuple[str, str, str]  # fingerprint, measure, unit


@dataclass(frozen=True)
class Record:
    """One measured cell, e.g. ``PAPER/1/ROW/COLUMN``.

    Attributes:
        measured: the unrounded value in ``unit``.
        seed: the user's, or None for the paper's own.
        fingerprint, measure: of the evaluation, or of several averaged ones. A measure is e.g. "RR@10".
        queries: number of averaged queries. ``missing`` of them count as 0.
        readings: reading -> choice other than the default.
        substitutes: reading -> why another choice replaced the one that needs absent data.
        environment: hardware of the recording process, software and kernels of the artefacts.
        origin: facts about a run by others.
        deviation: standard deviation (n - 1) over queries, in ``unit``.
        scale_facts: digest of a user's scale.
        code, commits: of the code that made the artefacts. ``code`` is a digest, "" if unknown.
        rows: name of the data, e.g. "beir/scifact documents" -> digest.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    cell: str
    scale: str
    measured: float
    seed: int | None
    fingerprint: str
    queries: int
    missing: int
    measure: str
    unit: str
    readings: dict[str, str] = field(default_factory=dict)
    substitutes: dict[str, str] = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    recorded: str = ""
    origin: dict = field(default_factory=dict)
    collections: list[str] = field(default_factory=list)
    deviation: float | None = None
    scale_facts: str = ""
    code: str = ""
    commits: list[str] = field(default_factory=list)
    rows: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        largest = LARGEST.get(self.unit, math.inf) if self.measure else math.inf
        rounded_up = largest * (1 + 1e-9)
        if not 0 <= self.measured <= rounded_up:
            bound = "are not below 0" if largest == math.inf else f"are between 0 and {largest}"
            raise DataError(f"{self.measured!r} is impossible for {self.cell}: values in {self.unit} {bound}")
        if not 0 <= (self.deviation or 0) <= rounded_up:
            raise DataError(f"{self.deviation!r} cannot be the deviation of {self.cell} in {self.unit}")
        if not 0 <= self.missing <= self.queries < 2**53:
            raise DataError(f"{self.missing} of {self.queries} queries cannot be missing from {self.cell}")
        check_environment(self.environment)
        check_commits(self.every_commit)
        try:
            datetime.fromisoformat(self.recorded or "2026-01-01")
        except ValueError:
            raise DataError(f"{self.recorded!r} is not a valid time for a record of {self.cell}") from None

    @property
    def identity(self) -> Identity:
        return self.fingerprint, self.measure, self.unit

    @property
    def key(self) -> tuple:
        """Cell, scale, seed, identity and readings. A newer record replaces an older one with equal key."""
        return self.cell, self.scale, self.seed, *self.identity, tuple(sorted(self.readings.items()))

    @property
    def result(self) -> tuple[float, int, int]:
        return self.measured, self.queries, self.missing

    @property
    def machine(self) -> str:
        """The recording machine, e.g. "2 x NVIDIA A100, 16 cores"."""
        hardware = self.environment.get("hardware") or {}
        number = hardware.get("cores") or 0
        cores = f"{number} core{'s' * (number > 1)}" if number else ""
        gpus = [f"{n} x {name}" if n > 1 else name for name, n in Counter(hardware.get("gpu") or ()).items()]
        return ", ".join(filter(None, [*gpus, hardware.get("cpu"), cores]))

    @property
    def has_dirty_commit(self) -> bool:
        """Whether one of its commits had uncommitted changes."""
        return any(str(commit).endswith(DIRTY) for commit in self.every_commit)

    @property
    def every_commit(self) -> list[str]:
        return [*self.commits, *filter(None, [self.environment.get("commit")])]

    def is_better_documented_than(self, other: "Record") -> bool:
        """Return whether this record has documentation that ``other`` lacks, e.g. its deviation."""
        description = {key: self.origin[key] for key in DESCRIPTION if self.origin.get(key)}
        known, known_of_other = (sum(map(bool, r.rows.values())) for r in (self, other))
        return any(
            (
                self.collections and not other.collections,
                self.code and self.code != other.code,
                self.environment not in ({}, other.environment)
                and unlike_here(self.environment) < unlike_here(other.environment),
                self.deviation is not None and other.deviation is None,
                known > known_of_other,
                other.has_dirty_commit and not self.has_dirty_commit,
                not description.items() <= other.origin.items(),
            )
        )


def join_codes(codes: Iterable[str]) -> str:
    """Combine digests of code into one of 16 digits. Returns "" if one is unknown ("")."""
    distinct = sorted(set(codes))
    return hashlib.sha256(" ".join(distinct).encode()).hexdigest()[:16] if all(distinct) else ""


_NEVER = datetime.min.replace(tzinfo=UTC)


def time_of(record: Record) -> datetime:
    """Return a record's time, or the earliest possible time if it is absent or in the future."""
    return _NEVER if not record.recorded or is_future(record) else _recorded_time(record)


def is_future(record: Record) -> bool:
    """Return whether a record's time is more than a day in the future."""
    return bool(record.recorded) and _recorded_time(record) > datetime.now(UTC) + CLOCKS_DIFFER


def _recorded_time(record: Record) -> datetime:
    time = datetime.fromisoformat(record.recorded)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_RECORD = TypeAdapter(Record)


def line_of(record: Record) -> bytes:
    """Return a record as a line of JSON with its sha256."""
    content = asdict(record)
    return json.dumps(content | {DIGEST: _digest(content)}, sort_keys=True).encode() + b"\n"


def record_of(line: bytes) -> Record:
    """Return the record of a line. Raises DataError for an invalid or altered one."""
    try:
        content = from_json(line)
    except ValueError as error:
        raise DataError(f"not a record: Invalid JSON: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"not a record: {type(content).__name__} instead of an object")
    digest, record = content.pop(DIGEST, None), _validate(_present(content))
    if digest is None:
        raise DataError("a record without its own digest. Measure it again.")
    if digest != _digest(content):
        raise DataError("altered: its sha256 does not fit its content. Restore it.")
    return record


def _present(content: dict) -> dict:
    return {key: value for key, value in content.items() if key != DIGEST and (value or key not in RETIRED)}


def _validate(content: dict) -> Record:
    try:
        return _RECORD.validate_json(to_json(content, inf_nan_mode="constants"))
    except ValidationError as error:
        first_error = error.errors()[0]
        location = "".join(f"{part}: " for part in first_error["loc"])
        raise DataError(f"not a record: {location}{first_error['msg']}") from None


def _digest(content: dict) -> str:
    try:
        return digest_of(content)
    except ValueError as error:  # e.g. of nan
        raise DataError(f"not a record: {error}") from None


FOLDER = "results folder", "--results or REPRO_RESULTS"


@dataclass(frozen=True)
class AppendedRecord:
    """An added record, and the earlier record with its key but another result, if any."""

    record: Record
    contradicted: Record | None


@dataclass(frozen=True)
class FaultyLine:
    """An invalid or doubtful line of a records file, e.g. "PAPER.jsonl:3: altered: …"."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class Results:
    """A folder of ``records/<scale>/<paper>.jsonl`` and ``figures/<scale>/``.

    ``release`` is another folder, read before ``root`` and never written. ``compared`` are other results,
    which may contradict these.
    """

    def __init__(self, root: Path, release: Path | None = None, compared: Path | None = None):
        self.root, self.release = root, release
        self.compared = Results(compared) if compared else None
        self._known: dict[Path, tuple[tuple[int, int, int], list[Record | FaultyLine]]] = {}

    @property
    def folders(self) -> list[Path]:
        return [folder for folder in (self.release, self.root) if folder]

    def path(self, scale: str, paper: str) -> Path:
        return self.root / "records" / scale / f"{paper}.jsonl"

    def scales(self, kind: str) -> set[str]:
        places = [folder / kind for folder in self.folders]
        return {p.name for place in places if place.is_dir() for p in place.iterdir() if p.is_dir()}

    def papers(self, scale: str) -> list[str]:
        return sorted({path.stem for f in self.folders for path in (f / "records" / scale).glob("*.jsonl")})

    def figures(self, scale: str) -> list[Path]:
        """Return the drawings' files, sorted by name. A file in ``root`` replaces the release's."""
        places = [folder / "figures" / scale for folder in self.folders]
        by_name = {path.name: path for place in places if place.is_dir() for path in place.iterdir()}
        return [path for _, path in sorted(by_name.items())]

    def make_writable(self) -> None:
        make_writable(self.root, *FOLDER)

    def read(self, scale: str, paper: str) -> list[Record]:
        """Return records sorted by time, without an unfinished last line. Raises DataError for a bad line."""
        name, records = self.path(scale, paper).relative_to(self.root), []
        for folder in self.folders:
            for line in self._lines(folder / name):
                if isinstance(line, FaultyLine):
                    raise DataError(str(line))
                records.append(line)
        return sorted(records, key=time_of)

    def checked(self) -> tuple[int, list[FaultyLine]]:
        """Return the number of all lines, and the lines that ``read`` refuses."""
        lines = [line for _, _, line in self._numbered_lines()]
        return len(lines), [line for line in lines if isinstance(line, FaultyLine)]

    def doubtful(self) -> list[FaultyLine]:
        """Return where records are dated in the future or contradicted by a newer one, with the reason."""
        lines = [(path, number, r) for path, number, r in self._numbered_lines() if isinstance(r, Record)]
        newest = {record.key: record for record in sorted((r for _, _, r in lines), key=time_of)}
        doubts = (FaultyLine(path, number, _reason_for_doubt(r, newest[r.key])) for path, number, r in lines)
        return [doubt for doubt in doubts if doubt.reason]

    def unfinished(self, scale: str = "*") -> list[Path]:
        """Return the files with an unfinished last line."""
        return [path for path in self._paths(scale) if _is_unfinished(path.read_bytes().rpartition(b"\n")[2])]

    def _numbered_lines(self) -> Iterator[tuple[Path, int, Record | FaultyLine]]:
        for path in self._paths():
            yield from ((path, number, line) for number, line in enumerate(self._lines(path), 1))

    def _paths(self, scale: str = "*") -> list[Path]:
        with translated_errors(self.root, *FOLDER):
            with contextlib.suppress(FileNotFoundError):
                os.scandir(self.root).close()
            return [
                p for folder in self.folders for p in sorted((folder / "records").glob(f"{scale}/*.jsonl"))
            ]

    def append(self, records: Iterable[Record]) -> list[AppendedRecord]:
        """Add and return records that are new, differ or are better documented. Safe between processes."""
        by_file = grouped(((r.scale, r.cell.split("/")[0]), r) for r in records)
        return [addition for key, group in by_file.items() for addition in self._append(*key, group)]

    def _append(self, scale: str, paper: str, group: list[Record]) -> list[AppendedRecord]:
        path = self.path(scale, paper)
        with translated_errors(self.root, *FOLDER):
            path.parent.mkdir(parents=True, exist_ok=True)
            with disk.file_lock(path.with_suffix(".lock")):
                if additions := list(_new_records(group, {r.key: r for r in self.read(scale, paper)})):
                    disk.append_lines(path, b"".join(line_of(addition.record) for addition in additions))
        return additions

    def _lines(self, path: Path) -> list[Record | FaultyLine]:
        with translated_errors(self.root, *FOLDER), contextlib.suppress(FileNotFoundError):
            facts = disk.check_regular(path.resolve())
            state = facts.st_ino, facts.st_mtime_ns, facts.st_size
            if path not in self._known or self._known[path][0] != state:
                self._known[path] = state, _read_lines(path)
            return self._known[path][1]
        return []


def _read_lines(path: Path) -> list[Record | FaultyLine]:
    content, checked = path.read_bytes(), list[Record | FaultyLine]()

    def are_valid() -> bool:
        checked.extend(_checked_lines(path, content))
        if not content.endswith(b"\n") or any(isinstance(line, FaultyLine) for line in checked):
            return False
        numbers = [number for r in _valid_lines(content) for number in (r.measured, r.deviation)]
        return all(isinstance(number, float | None) for number in numbers)  # otherwise pydantic converts

    if kept(f"records {path}", content, are_valid) and not checked:
        return [*_valid_lines(content)]
    return checked or list(_checked_lines(path, content))


def _valid_lines(content: bytes) -> Iterator[Record]:
    return (Record(**_present(from_json(line))) for line in content.split(b"\n")[:-1])


def _checked_lines(path: Path, content: bytes) -> Iterator[Record | FaultyLine]:
    *lines, last_piece = content.split(b"\n")
    if last_piece and not _is_unfinished(last_piece):
        lines.append(last_piece)
    for number, line in enumerate(lines, 1):
        try:
            record = record_of(line)
            paper = record.cell.partition("/")[0]
            if (record.scale, paper) != (path.parent.name, path.stem):
                reason = f"a record of {paper} at scale {record.scale} in the file of {path.stem}"
                raise DataError(f"{reason} at scale {path.parent.name}; move it back")
            yield record
        except DataError as error:
            yield FaultyLine(path, number, str(error))


def _reason_for_doubt(record: Record, newest: Record) -> str:
    if is_future(record):
        time = record.recorded
        return f"recorded at {time}, which is in the future: every other record of its cell is preferred"
    if record.result == newest.result:
        return ""
    other = f"{newest.measured} was measured later ({newest.recorded or 'at an unknown time'}) and counts"
    return f"{record.measured} for {record.cell}, but under the same fingerprint {other}"


def _new_records(group: list[Record], newest_by_key: dict[tuple, Record]) -> Iterator[AppendedRecord]:
    for record in group:
        previous = newest_by_key.get(record.key)
        differs = previous is not None and previous.result != record.result
        if previous is None or differs or is_future(previous) or record.is_better_documented_than(previous):
            newest_by_key[record.key] = record
            yield AppendedRecord(record, previous if differs else None)


def _is_unfinished(end: bytes) -> bool:
    try:
        record_of(end[:-1])
    except DataError:
        return bool(end)
    return False
