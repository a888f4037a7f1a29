"""Exports, imports and shows records that others measured with this suite. No verdict uses them.

A file has a line per record as in ``results/records``, with e.g. ``"origin": {"by": "Jane Doe"}``.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import click

from repro import api, hooks
from repro.cli.options import selection_options
from repro.cli.printing import say, table
from repro.errors import DataError, ReproError, UsageError, shortened
from repro.graph import grouped
from repro.manifest.cells import Cell, cell
from repro.running.records import identities
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import disk, translated_errors
from repro.store.results import FOLDER as RESULTS
from repro.store.results import Record, Results, line_of, record_of
from repro.verdicts.decision import Basis, code_counts, doubts
from repro.verdicts.evidence import Evidence
from repro.verdicts.verdict import Doubt

FOLDER = "contributed"
PLACE = f"results/{FOLDER}"


def read(path: Path) -> list[Record]:
    """Return the checked records of a file. Raises DataError for a wrong one."""
    records = []
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            records.append(_checked(record_of(line)))
        except ReproError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    return records


def _checked(record: Record) -> Record:
    scale(record.scale)
    if record.unit != cell(record.cell).unit:
        raise DataError(f"{record.unit} is not the unit of {record.cell}")
    if record.origin.keys() != {"by"} or not isinstance(record.origin["by"], str) or not record.recorded:
        raise DataError("the record has no person and time. Write it with `repro export records --by NAME`.")
    return record


def doubts_about(record: Record, workspace: Workspace) -> tuple[Doubt, ...]:
    """Return the doubts that this record would have as one of your own."""
    own, seeds = replace(record, origin={}), () if record.seed is None else (record.seed,)
    options: dict[str, Any] = {"scale": record.scale, "seeds": seeds, "readings": record.readings}
    try:
        plan = api.select(record.cell, **options, workspace=workspace).plan()
    except ReproError as error:  # e.g. a choice that no longer exists
        return (Doubt("outdated", str(error)), *doubts(Basis([own])))
    plan.look(workspace.store)
    others = workspace.results.read(record.scale, record.cell.partition("/")[0])
    parts = [m for m in plan.measurements if m.cell.id == record.cell]
    expected = identities(plan).get(record.cell, {})
    ours = grouped((r.identity, r) for r in others)
    evidence = Evidence(cell(record.cell), plan, parts, expected, [own], [], outcome=None, on_record=ours)
    return doubts(Basis([own], code_counts(evidence, [own]), evidence))


def described(record: Record) -> str:
    seed = "" if record.seed is None else f", seed {record.seed}"
    reasons = ", ".join(map(str, doubts_about(record, Workspace.open())))
    return f"{record.origin['by']} on {record.recorded[:10]}{seed}" + (reasons and f", doubtful: {reasons}")


def records_of(of_cell: Cell) -> Sequence[Record]:
    settings = map(os.environ.get, ("REPRO_RESULTS", "XDG_DATA_HOME", "HOME"))
    folders = _folders(os.getcwd(), *settings)
    return _by_cell(tuple((folder, _time(folder)) for folder in folders)).get(of_cell.id, ())


def _time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=2)
def _folders(*settings: str | None) -> list[str]:
    return [str(folder / FOLDER) for folder in Workspace.open().results.folders]


@lru_cache(maxsize=2)
def _by_cell(folders: tuple[tuple[str, int], ...]) -> dict[str, list[Record]]:
    paths = [path for folder, _ in folders for path in sorted(Path(folder).glob("*.jsonl"))]
    return grouped((record.cell, record) for path in paths for record in read(path))


def notes_on(of_cell: Cell) -> list[hooks.CellNote]:
    notes = []
    for r in (r for r in records_of(of_cell) if r.scale == "full"):
        value, person, words = f"{r.measured:.10f}".rstrip("0").rstrip("."), r.origin["by"], described(r)
        facts = {"value": r.measured, "name": person, "place": PLACE, "run_by_others": words}
        notes.append(hooks.CellNote(person, value, PLACE, making="suite", details=words, facts=facts))
    return notes


class ContributedPart(hooks.CellPart):
    def __init__(self, of_cell: Cell, page: object = None):
        self._lines = [_line(r) for r in records_of(of_cell)]
        self.facts = {"contributed": self._lines} if self._lines else {}

    def below_measured(self) -> Iterator[tuple[str, str]]:
        yield from (("run by others", line) for line in self._lines)


class ContributedCards(hooks.PaperPart):
    """Adds contributed records, at scales other than full, to the cards of cells in the report."""

    def __init__(self, sources: object):
        pass

    def card(self, c, part):
        shown = [r for r in records_of(c.cell) if r.scale == c.scale != "full"]
        return [("run by others", _line(r)) for r in shown]


def _line(record: Record) -> str:
    return f"{record.measured:.6g} at scale {record.scale} by {described(record)}"


@click.command(
    "records", epilog="\b\nExamples:\n  repro export records PAPER --table 1 --by 'Jane Doe' -o jane.jsonl"
)
@selection_options
@click.option("--by", "person", required=True, metavar="NAME", help="Your name, which others will see.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE")
def export(selection, person, output):
    """Write your own records of the selected cells, as input of `repro import records`."""
    if not person.strip() or person != shortened(person):
        raise UsageError("--by needs a name on one line of at most 80 characters")
    newest = {
        (r.cell, r.seed, *sorted(r.readings.items())): replace(r, origin={"by": person.strip()})
        for r in _own_records(selection)
        if not selection.seeds or r.seed in selection.seeds
    }
    if not newest:
        raise UsageError("the results folder has no record of yours for these cells at this scale")
    output.write_bytes(b"".join(map(line_of, newest.values())))
    say(f"{len(newest)} records in {output}")


def _own_records(selection: api.Selection) -> Iterator[Record]:
    cells, results = {c.id for c in selection.cells}, Results(selection.workspace.locations.results)
    for paper in sorted({c.paper.name for c in selection.cells}):
        records = results.read(selection.scale, paper)
        yield from (r for r in records if r.cell in cells and not r.origin)


@click.command(
    "records", epilog="\b\nExamples:\n  repro import records jane.jsonl\n  repro import records FOLDER"
)
@click.argument("source", metavar="FILE|FOLDER", type=click.Path(path_type=Path, exists=True))
def import_(source):
    """Check records of others and copy their files to results/contributed.

    The cells show them as run by others, with all doubts. No verdict uses them.
    """
    files = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
    if not files:
        raise UsageError(f"{source} contains no file *.jsonl")
    workspace, contents = Workspace.open(), {path: read(path) for path in files}
    folder = workspace.locations.results / FOLDER
    with translated_errors(workspace.locations.results, *RESULTS):
        for path in files:
            target = (folder / path.name).with_suffix(".jsonl")
            if target.exists() and target.read_bytes() != path.read_bytes():
                raise UsageError(f"{target} has other content. Rename {path.name}.")
            folder.mkdir(parents=True, exist_ok=True)
            disk.write_whole(target, path.read_bytes())
    _by_cell.cache_clear()
    rows = [
        [r.cell, r.scale, f"{r.measured:.6g}", r.origin["by"], r.recorded[:10], ", ".join(kinds) or "none"]
        for r in chain.from_iterable(contents.values())
        for kinds in [[doubt.kind for doubt in doubts_about(r, workspace)]]
    ]
    table("run by others", ["cell", "scale", "value", "by", "date", "doubts"], rows, right=(2,))
    say(f"{len(rows)} records are in {folder}")
