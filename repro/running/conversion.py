"""Records of before they held a measure, a unit and a digest, given them and held against stored scores."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from repro.errors import DataError, UsageError
from repro.manifest.cells import Cell, select
from repro.manifest.papers import papers
from repro.running.imports import import_of, scoring_settings
from repro.running.plan import Plan, plan
from repro.running.records import identities, member_cells, stored_records
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import Store, translated_errors
from repro.store.record_lines import DIGEST, content_of, line_of, older_record, record_of
from repro.store.results import Record, Results


@dataclass(frozen=True)
class Conversion:
    """A file of records that was converted: how many lines it has, and the records that were new to it.

    Attributes:
        proved: measure, unit and value are those of a stored evaluation of the same fingerprint.
        assumed: measure and unit were taken from the manifest as it is, and nothing stored proves them.
    """

    path: Path
    lines: int
    proved: list[Record]
    assumed: list[Record]


def convert(results: Results, workspace: Workspace) -> Iterator[Conversion]:
    """Convert every file of records in place; what holds its digest, and is not assumed, stays as it is.

    Values are not touched. Raises DataError for a line that is no record, before its file is written.
    """
    from filelock import FileLock

    for path in sorted((results.root / "records").glob("*/*.jsonl")):
        with (
            translated_errors(results.root, "results folder", "--results"),
            FileLock(path.with_suffix(".lock")),
        ):
            lines = _read(path)
            older = {n: r for n, r in enumerate(lines) if isinstance(r, Record)}
            settled = dict(zip(older, _settled(list(older.values()), path, workspace), strict=True))
            if settled:
                _write(path, [line_of(settled[n]) if n in settled else line for n, line in enumerate(lines)])
        proved = [r for r in settled.values() if not r.assumed]
        yield Conversion(path, len(lines), proved, [r for r in settled.values() if r.assumed])


def _read(path: Path) -> list[Record | bytes]:
    """The lines of a file: those that stay, and the records that are to be settled."""
    read: list[Record | bytes] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            content = content_of(line)
            if DIGEST in content:
                known = record_of(line)
                read.append(known if known.assumed else line + b"\n")
            else:
                read.append(older_record(content))
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    return read


def _write(path: Path, lines: Iterable[bytes]) -> None:
    scratch = path.with_suffix(".partial")
    with scratch.open("wb") as stream:
        stream.writelines(lines)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(scratch, path)


@dataclass(frozen=True)
class _Basis:
    """The current records, by manifests and store, of one seed and one choice of readings."""

    plan: Plan
    identities: Mapping[str, Mapping[int | None, tuple[str, str, str]]]
    stored: list[Record]


def _settled(records: list[Record], path: Path, workspace: Workspace) -> list[Record]:
    """The records with measure and unit, in their order."""
    cells = (
        {c.id: c for c in select((path.stem,), tables=(), rows=(), cells=())} if path.stem in papers() else {}
    )
    by_variant: dict[tuple, dict[str, Cell]] = {}
    for r in records:
        if r.cell in cells:
            by_variant.setdefault(_variant(r), {})[r.cell] = cells[r.cell]
    bases = {
        v: _basis(path.parent.name, v, list(chosen.values()), workspace) for v, chosen in by_variant.items()
    }
    return [_one(r, cells.get(r.cell), bases.get(_variant(r)), workspace.store) for r in records]


def _variant(record: Record) -> tuple[int | None, tuple[tuple[str, str], ...]]:
    chosen = {k: v for k, v in record.readings.items() if k not in record.substitutes}
    return record.seed, tuple(sorted(chosen.items()))


def _basis(name: str, variant: tuple, cells: list[Cell], workspace: Workspace) -> _Basis | None:
    """The current records of cells; None where the manifests have the scale or a choice no more."""
    seed, readings = variant
    how = {
        "machine": workspace.machine,
        "seeds": () if seed is None else (seed,),
        "overrides": dict(readings),
    }
    try:
        made = plan(cells, scale=scale(name), **how)
    except UsageError:
        return None
    made.look(workspace.store)
    return _Basis(made, identities(made), stored_records(made, workspace.store, sound_only=True))


def _one(record: Record, cell: Cell | None, basis: _Basis | None, store: Store) -> Record:
    if cell is None or basis is None:
        return record
    if record.origin:
        return _imported(record, cell, basis.plan, store) if cell.column.dataset else record
    identity = basis.identities.get(cell.id, {}).get(record.seed)
    if identity is None or identity[0] != record.fingerprint:
        return replace(record, measure=cell.column.measure or "", unit=cell.unit)
    parts = [m for m in basis.plan.measurements if m.cell.id in (cell.id, *member_cells(cell))]
    readings = {reading: choice for m in parts for reading, choice in m.departures.items()}
    settled = replace(record, measure=identity[1], unit=identity[2], readings=readings)
    return _proved(settled, basis.stored)


def _imported(record: Record, cell: Cell, made: Plan, store: Store) -> Record:
    own = next((m for m in made.measurements if m.cell.id == cell.id), None)
    now = import_of(cell, own, made.machine, {"sha256": record.origin["sha256"]})
    settled = replace(
        record, measure=now.measure, unit=cell.unit, origin={**record.origin, **scoring_settings(now)}
    )
    alone = replace(made, cells=[], measurements=[now], exhibits={})
    alone.look(store)
    return _proved(settled, stored_records(alone, store, sound_only=True))


def _proved(settled: Record, stored: list[Record]) -> Record:
    """The record, no more assumed if a stored result is its own."""
    same = any(
        s.cell == settled.cell and s.identity == settled.identity and s.result == settled.result
        for s in stored
    )
    return replace(settled, assumed=not same)
