"""A record as a line of JSON that holds and proves its own digest."""

import hashlib
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import ConfigDict, TypeAdapter, ValidationError

from repro.errors import DataError
from repro.graph import canonical
from repro.machine.versions import DIRTY

DIGEST = "sha256"  # of a line: over canonical JSON of everything else in it
LARGEST = {"fraction": 1, "percent": 100}  # value in a unit; any other, as of an index's size, has none
CLOCKS_DIFFER = timedelta(days=1)
DESCRIPTION = ("source", "toolkit", "settings")  # of where somebody else's run is from, in words


@dataclass(frozen=True)
class Record:
    """One measured cell.

    Attributes:
        cell: the cell's path.
        measured: the value in ``unit``, unrounded.
        seed: the user's seed; None means the paper's own.
        fingerprint: of the evaluation (or of the evaluations averaged).
        queries: queries averaged over; ``missing`` of them were not in the run and count as 0.
        measure: by which the evaluation was read; of an average those of its members, one if all agree.
        unit: of the published number at the time: fraction, percent, or what the column said.
        readings: choices in force that are not the default.
        substitutes: readings whose original data was not at hand, and why.
        environment: commit, versions and hardware of the process that recorded it, and kernels of those that
            made what is behind it.
        origin: of somebody else's run: kind (import), file, sha256, source, tag, and how it was scored; empty
            for the suite's own.
        collections: ids of the data that was searched and judged, stand-ins as themselves; empty in records
            of versions that did not say.
        deviation: of the queries' scores around ``measured``, in its unit (n - 1); None where the value is no
            mean over one set of queries, and in records of versions that did not say.
        scale_facts: what tells a scale of the user's own from another of its name, twelve digits over all
            that its file says; empty for the suite's scales.
        code: a digest of the code that made the artefacts behind it, as they recorded it; empty where one of
            them does not say, and in records of versions that did not.
        commits: the commits at which these artefacts were made, each once.
        rows: the digest of the rows of every piece of data behind it, by "<dataset> <piece>".
        unchecked: what behind it came from another store and was not checked in this one.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # for reading back

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
    unchecked: list[str] = field(default_factory=list)

    def __post_init__(self):
        """Raise DataError for numbers that no measurement gives, and for a time that is none."""
        largest = LARGEST.get(self.unit, math.inf) if self.measure else math.inf  # a setting is no score
        rounded_up = largest * (1 + 1e-9)  # a sum of floats
        if not 0 <= self.measured <= rounded_up:
            bound = "are not below 0" if largest == math.inf else f"lie between 0 and {largest}"
            reason = f"values in {self.unit} {bound}"
            raise DataError(f"{self.measured!r} cannot have been measured for {self.cell}: {reason}")
        if not 0 <= (self.deviation or 0) <= rounded_up:
            raise DataError(f"{self.deviation!r} cannot be the deviation of {self.cell} in {self.unit}")
        if not 0 <= self.missing <= self.queries:
            raise DataError(f"{self.missing} of {self.queries} queries cannot be missing from {self.cell}")
        try:
            datetime.fromisoformat(self.recorded or "2026-01-01")
        except ValueError:
            raise DataError(f"{self.recorded!r} is no time at which {self.cell} can be recorded") from None

    @property
    def identity(self) -> tuple[str, str, str]:
        """The scores that were read, and how: fingerprint, measure, unit."""
        return self.fingerprint, self.measure, self.unit

    @property
    def key(self) -> tuple:
        """Two records with equal keys are measurements of the same thing; the newer one counts."""
        return self.cell, self.scale, self.seed, *self.identity, tuple(sorted(self.readings.items()))

    @property
    def result(self) -> tuple[float, int, int]:
        """The measurement alone: value, queries, missing ones."""
        return self.measured, self.queries, self.missing

    @property
    def machine(self) -> str:
        """The GPUs, the CPU and the number of cores of the process that recorded it; empty where unknown."""
        hardware = self.environment.get("hardware") or {}
        number = hardware.get("cores") or 0
        cores = f"{number} core{'s' * (number > 1)}" if number else ""
        gpus = [f"{n} x {name}" if n > 1 else name for name, n in Counter(hardware.get("gpu") or ()).items()]
        return ", ".join(filter(None, [*gpus, hardware.get("cpu"), cores]))

    @property
    def is_of_dirty_tree(self) -> bool:
        """Whether something behind it was made by a working tree that differed from its commit."""
        return any(str(commit).endswith(DIRTY) for commit in self.every_commit)

    @property
    def every_commit(self) -> list[str]:
        """The commits of the artefacts behind it, and that of the process that recorded it."""
        return [*self.commits, *filter(None, [self.environment.get("commit")])]

    def tells_more_than(self, other: "Record") -> bool:
        """Whether this record of the same result proves or says what the other does not."""
        description = {key: self.origin[key] for key in DESCRIPTION if self.origin.get(key)}
        known, known_of_other = (sum(map(bool, record.rows.values())) for record in (self, other))
        return any(
            (
                self.collections and not other.collections,
                self.code and self.code != other.code,
                self.deviation is not None and other.deviation is None,
                known > known_of_other,
                set(self.unchecked) < set(other.unchecked),
                other.is_of_dirty_tree and not self.is_of_dirty_tree,
                not description.items() <= other.origin.items(),
            )
        )


_NEVER = datetime.min.replace(tzinfo=UTC)


def time_of(record: Record) -> datetime:
    """Return when a record was made; before all others where it says nothing, or a time to come."""
    return _NEVER if not record.recorded or is_future(record) else _said_time(record)


def is_future(record: Record) -> bool:
    """Return whether a record says that it was made more than a day from now: some clock was wrong."""
    return bool(record.recorded) and _said_time(record) > datetime.now(UTC) + CLOCKS_DIFFER


def _said_time(record: Record) -> datetime:
    time = datetime.fromisoformat(record.recorded)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_RECORD = TypeAdapter(Record)


def line_of(record: Record) -> bytes:
    """The line of a record, with its end."""
    content = asdict(record)
    return json.dumps(content | {DIGEST: _digest(content)}, sort_keys=True).encode() + b"\n"


def record_of(line: bytes) -> Record:
    """The record that a line holds. Raises DataError with the reason where it holds or proves none."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not a record: Invalid JSON: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"not a record: {type(content).__name__} in place of an object")
    digest, known = content.pop(DIGEST, None), dict(content)
    known.pop("assumed", None)  # false in every line of a version that wrote it
    record = _validate(known)
    if digest is None:
        raise DataError("a record without a digest of its own, which proves nothing; measure it again")
    if digest != _digest(content):
        raise DataError("altered: the line is not the one that its sha256 was taken of; restore it")
    return record


def _validate(content: dict) -> Record:
    try:
        return _RECORD.validate_json(json.dumps(content))
    except ValidationError as error:
        first_error = error.errors()[0]
        location = "".join(f"{part}: " for part in first_error["loc"])
        raise DataError(f"not a record: {location}{first_error['msg']}") from None


def _digest(content: dict) -> str:
    try:
        return hashlib.sha256(canonical(content).encode()).hexdigest()
    except ValueError as error:  # nan where any value may stand
        raise DataError(f"not a record: {error}") from None
