"""Numbers of a run beside those on record of the same measurement: which came back, and why others not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro.store.results import Record, Results

SHOWN = 3  # of those that did not come back
UNKNOWN = "not said"


@dataclass(frozen=True)
class Recurrence:
    """A number measured now, and the one on record, of one cell, scale, seed, fingerprint and measure."""

    measured: Record
    on_record: Record

    @property
    def came_back(self) -> bool:
        """Whether both are one and the same, to the last bit, over the same queries."""
        return self.measured.result == self.on_record.result

    def __str__(self) -> str:
        now, before = self.measured.measured, self.on_record.measured
        return f"{self.measured.cell} {now:.10g} ({before:.10g} on record, {now - before:+.2g})"


def recorded_before(records: Iterable[Record], results: Results | None) -> dict[tuple, Record]:
    """Return by key the newest record that ``results`` hold in the files of ``records``."""
    files = {(r.scale, r.cell.partition("/")[0]) for r in records} if results else ()
    return {r.key: r for file in sorted(files) for r in results.read(*file)}


def sentences(recurrences: Sequence[Recurrence]) -> Iterator[str]:
    """Yield how many numbers came back, which did not and how far, and the likely cause; nothing of none."""
    if not recurrences:
        return
    others = [r for r in recurrences if not r.came_back]
    yield f"{len(recurrences) - len(others)} of {len(recurrences)} as on record"
    if others:
        more = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        farthest = sorted(others, key=lambda r: -abs(r.measured.measured - r.on_record.measured))
        yield f"not as on record: {'; '.join(map(str, farthest[:SHOWN]))}{more}"
        causes = dict.fromkeys(cause for r in others for cause in _causes(r.measured, r.on_record))
        yield f"likely cause: {'; '.join(causes) or 'none that the records tell'}"


def _causes(now: Record, before: Record) -> Iterator[str]:
    """Yield what differs between the circumstances of two records, that which moves most first."""
    yield from _other_code(now, before)
    software = [r.environment.get("software", {}) for r in (now, before)]
    yield from _differences(*software, leave_out=("repro-bench",))
    yield from _other_pins(*(r.environment.get("kernels", {}).get("pins", {}) for r in (now, before)))
    hardware = [r.environment.get("hardware", {}) for r in (now, before)]
    yield from _differences(*hardware, only=("cpu", "instructions", "gpu"))


def _other_code(now: Record, before: Record) -> Iterator[str]:
    commits = [(r.environment.get("commit") or UNKNOWN)[:10] for r in (now, before)]
    if not (now.code and before.code):
        yield f"perhaps other code, {_pair(*commits)}"
    elif now.code != before.code:
        yield f"other code, {_pair(*commits)}"


def _differences(
    now: Mapping, before: Mapping, *, only: Sequence[str] = (), leave_out: Sequence[str] = ()
) -> Iterator[str]:
    for name in only or dict.fromkeys([*now, *before]):
        if now.get(name) != before.get(name) and name not in leave_out:
            yield f"{name} {_pair(now.get(name), before.get(name))}"


def _other_pins(*pins: object) -> Iterator[str]:
    """Yield the variables that differ; the one for numpy follows from the processor."""
    now, before = (p if isinstance(p, Mapping) else {"kernels": "of several kinds"} for p in pins)
    if now and before:
        yield from _differences(now, before, leave_out=("NPY_DISABLE_CPU_FEATURES",))
    elif now or before:
        yield f"kernels {_pair(*('pinned' if p else 'not pinned' for p in (now, before)))}"


def _pair(now: object, before: object) -> str:
    return f"{now or UNKNOWN} ({before or UNKNOWN} on record)"
