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
            records = dict(zip(older, _converted_records(list(older.values()), path, workspace), strict=True))
            if records:
                _write(path, [line_of(records[n]) if n in records else line for n, line in enumerate(lines)])
        proved_records = [r for r in records.values() if not r.assumed]
        yield Conversion(path, len(lines), proved_records, [r for r in records.values() if r.assumed])


def _read(path: Path) -> list[Record | bytes]:
    """The lines of a file: those that stay, and the records that are to be settled."""
    lines: list[Record | bytes] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            content = content_of(line)
            if DIGEST in content:
                record = record_of(line)
                lines.append(record if record.assumed else line + b"\n")
            else:
                lines.append(older_record(content))
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    return lines


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


def _converted_records(records: list[Record], path: Path, workspace: Workspace) -> list[Record]:
    """The records with measure and unit, in their order."""
    cells = (
        {c.id: c for c in select((path.stem,), tables=(), rows=(), cells=())} if path.stem in papers() else {}
    )
    by_variant: dict[tuple, dict[str, Cell]] = {}
    for r in records:
        if r.cell in cells:
            by_variant.setdefault(_variant(r), {})[r.cell] = cells[r.cell]
    bases = {
        v: _basis(path.parent.name, v, list(variant_cells.values()), workspace)
        for v, variant_cells in by_variant.items()
    }
    return [_convert_record(r, cells.get(r.cell), bases.get(_variant(r)), workspace.store) for r in records]


def _variant(record: Record) -> tuple[int | None, tuple[tuple[str, str], ...]]:
    choices = {k: v for k, v in record.readings.items() if k not in record.substitutes}
    return record.seed, tuple(sorted(choices.items()))


def _basis(name: str, variant: tuple, cells: list[Cell], workspace: Workspace) -> _Basis | None:
    """The current records of cells; None where the manifests have the scale or a choice no more."""
    seed, readings = variant
    arguments = {
        "machine": workspace.machine,
        "seeds": () if seed is None else (seed,),
        "overrides": dict(readings),
    }
    try:
        current_plan = plan(cells, scale=scale(name), **arguments)
    except UsageError:
        return None
    current_plan.look(workspace.store)
    return _Basis(
        current_plan, identities(current_plan), stored_records(current_plan, workspace.store, sound_only=True)
    )


def _convert_record(record: Record, cell: Cell | None, basis: _Basis | None, store: Store) -> Record:
    if cell is None or basis is None:
        return record
    if record.origin:
        return _convert_import(record, cell, basis.plan, store) if cell.column.dataset else record
    identity = basis.identities.get(cell.id, {}).get(record.seed)
    if identity is None or identity[0] != record.fingerprint:
        return replace(record, measure=cell.column.measure or "", unit=cell.unit)
    parts = [m for m in basis.plan.measurements if m.cell.id in (cell.id, *member_cells(cell))]
    readings = {reading: choice for m in parts for reading, choice in m.departures.items()}
    converted_record = replace(record, measure=identity[1], unit=identity[2], readings=readings)
    return _mark_proved(converted_record, basis.stored)


def _convert_import(record: Record, cell: Cell, current_plan: Plan, store: Store) -> Record:
    recipe_measurement = next((m for m in current_plan.measurements if m.cell.id == cell.id), None)
    measurement = import_of(
        cell, recipe_measurement, current_plan.machine, {"sha256": record.origin["sha256"]}
    )
    converted_record = replace(
        record,
        measure=measurement.measure,
        unit=cell.unit,
        origin={**record.origin, **scoring_settings(measurement)},
    )
    single_plan = replace(current_plan, cells=[], measurements=[measurement], exhibits={})
    single_plan.look(store)
    return _mark_proved(converted_record, stored_records(single_plan, store, sound_only=True))


def _mark_proved(record: Record, evidence: list[Record]) -> Record:
    """The record, no more assumed if a stored result is its own."""
    is_proved = any(
        s.cell == record.cell and s.identity == record.identity and s.result == record.result
        for s in evidence
    )
    return replace(record, assumed=not is_proved)
