"""The schema of others.yaml: values of cells that others report, e.g. on a model card."""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from repro.graph import grouped
from repro.hooks import MAKINGS, MATCHES, CellNote
from repro.manifest import papers, printed, schema, yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.reading_schema import DAY, Place, Who
from repro.manifest.yaml_file import Fault, Identified, StrictMapping

FILE = "others.yaml"
DECIMAL = r"^\d+(\.\d+)?$"
FAR = 20  # a value this many times lower has the wrong unit


class Source(Place):
    """The place and the author of reports. ``name`` is the toolkit, repository or paper."""

    who: Who
    name: str


class ReportMethod(StrictMapping):
    """How a reported value was made. ``start`` is a key of ``repro.hooks.MAKINGS``, e.g. ``run`` for a
    released run that was scored again.
    """

    start: Literal["checkpoint", "run", "fine-tuned", "trained", "index", "unknown"]
    software: str = ""
    seeds: int = Field(0, ge=0)
    hardware: str = ""
    batch: str = ""
    differs: tuple[str, ...] = ()


class Report(StrictMapping):
    """A reported value.

    Attributes:
        unit: ``percent``, ``fraction`` or the unit of the cell.
        measure, dataset: their names in the source.
        match: ``close`` if a known difference may matter, ``loose`` if only the name matches.
        at: where in the source, e.g. a line, row or comment.
    """

    cells: tuple[str, ...] = Field(min_length=1)
    value: str = Field(pattern=DECIMAL)
    unit: str = "percent"
    measure: str
    dataset: str
    source: str
    how: ReportMethod
    match: Literal["exact", "close", "loose"] = "exact"
    at: str = ""
    note: str = ""


def _flat(items: object) -> object:
    if not isinstance(items, list):
        return items
    return list(chain.from_iterable(item if isinstance(item, list) else [item] for item in items))


Words = Annotated[tuple[str, ...], BeforeValidator(_flat)]


class Search(Identified):
    """A search for values that others report for the system ``id``. ``runs`` maps the beginning of a
    collection's id to the place of a released run.
    """

    queries: Words = ()
    places: Words = ()
    in_vain: Words = ()
    runs: dict[str, str] = Field(default_factory=dict)
    date: str = Field(pattern=DAY)
    note: str = ""

    def run_on(self, collection: str) -> str:
        """Return the place of a released run, by the longest key in ``runs`` that begins it, or ""."""
        beginnings = [beginning for beginning in self.runs if collection.startswith(beginning)]
        return self.runs[max(beginnings, key=len)] if beginnings else ""


class Reports(StrictMapping):
    """The content of an others.yaml. ``shared`` contains YAML anchors."""

    shared: tuple[object, ...] = ()
    sources: dict[str, Source] = Field(default_factory=dict)
    values: tuple[Report, ...] = ()
    searches: tuple[Search, ...] = ()


@dataclass(frozen=True)
class CellReport:
    cell: Cell
    report: Report
    source: Source

    @functools.cached_property
    def value(self) -> Decimal:
        """The reported value in the unit of the published one."""
        digits = {("percent", "fraction"): -2, ("fraction", "percent"): 2}
        return printed.shift_point(self.report.value, digits.get((self.report.unit, self.cell.unit), 0))

    @functools.cached_property
    def note(self) -> CellNote:
        report, source = self.report, self.source
        differs = f"differs: {', '.join(report.how.differs)}" if report.how.differs else ""
        return CellNote(
            source.name,
            f"{self.value:f}",
            ", ".join(filter(None, (source.place, report.at))),
            address=source.address,
            who=source.who,
            making=report.how.start,
            match=report.match,
            details="; ".join(filter(None, (differs, report.note))),
            facts=self.as_json(),
        )

    def as_json(self) -> dict:
        report, source = self.report, self.source
        return {
            "value": float(self.value),
            "stated": report.value,
            "measure": report.measure,
            "dataset": report.dataset,
            "difference": float(self.difference),
            "equal": self.equals_published,
            "match": report.match,
            "who": source.who,
            "name": source.name,
            "how": report.how.model_dump(),
            "place": source.place,
            "at": report.at,
            "address": source.address,
            "note": report.note,
        }

    @property
    def difference(self) -> Decimal:
        return self.value - self.cell.number

    @property
    def equals_published(self) -> bool:
        """True if both numbers agree at the fewer decimals of the two."""
        return self.cell.equals(self.value)


@papers.kept_with_papers
def reports() -> dict[str, list[CellReport]]:
    """Return cell id -> its reports. Raises ManifestError."""
    known = known_cells()
    return grouped(
        (cell, CellReport(known[cell], report, content.sources[report.source]))
        for content in (read_reports(folder, known) for folder in folders())
        for report in content.values
        for cell in report.cells
    )


def others_values(cell: Cell) -> tuple[CellReport, ...]:
    """Return the reports on a cell by match and making, closest first. In each group the median is first."""
    return _ordered().get(cell.id, ())


@papers.kept_with_papers
def _ordered() -> dict[str, tuple[CellReport, ...]]:
    groups = {cell: groupby(sorted(values, key=_kind), key=_kind) for cell, values in reports().items()}
    return {cell: tuple(r for _, g in of for r in _median_first(g)) for cell, of in groups.items()}


def notes_on(cell: Cell) -> list[CellNote]:
    return [report.note for report in others_values(cell)]


def _kind(cell_report: CellReport) -> tuple[int, int]:
    report = cell_report.report
    return [*MATCHES].index(report.match), [*MAKINGS].index(report.how.start)


def _median_first(group: Iterable[CellReport]) -> list[CellReport]:
    ordered = sorted(group, key=lambda report: report.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    median = max(middle, key=lambda report: abs(report.difference))
    return [median, *(report for report in ordered if report is not median)]


def known_cells() -> dict[str, Cell]:
    return {cell.id: cell for source in papers.papers().values() for cell in cells_of(source)}


def folders() -> list[Path]:
    return papers.folders_with(FILE)


def searches() -> dict[str, tuple[Search, ...]]:
    return {folder.name: yaml_file.read(folder / FILE, Reports).searches for folder in folders()}


def read_reports(folder: Path, known: dict[str, Cell]) -> Reports:
    return yaml_file.read(folder / FILE, Reports, faults=functools.partial(faults, known=known))


def faults(content: Reports, known: dict[str, Cell]) -> Iterator[Fault]:
    seen: set[tuple] = set()
    for number, report in enumerate(content.values):
        place = ("values", number)
        if report.source not in content.sources:
            yield (*place, "source"), f"{report.source!r} is not among the sources"
            continue
        source = content.sources[report.source]
        for cell in report.cells:
            if cell not in known or not known[cell].is_numeric:
                yield (*place, "cells"), f"{cell!r} is not a cell with a published number"
            elif reason := _value_fault(CellReport(known[cell], report, source)):
                yield (*place, "value"), f"{report.value} on {cell} {reason}"
        yield from (((*place, *field), reason) for field, reason in _report_faults(report, known))
        keys = {(c, report.source, report.value, report.measure, report.at) for c in report.cells}
        if keys & seen:
            yield place, "the same value occurs twice"
        seen |= keys
    yield from _source_faults(content)
    yield from _run_faults(content, known)


def _report_faults(report: Report, cells_by_id: dict[str, Cell]) -> Iterator[Fault]:
    if len(set(report.how.differs)) < len(report.how.differs):
        yield ("how", "differs"), "a difference occurs twice"
    if len(set(report.cells)) < len(report.cells):
        yield ("cells",), "a cell occurs twice"
    measures = sorted({str(cells_by_id[c].column.measure) for c in report.cells if c in cells_by_id})
    if len(measures) > 1:
        yield ("cells",), f"the cells have several measures: {', '.join(measures)}"


def _value_fault(entry: CellReport) -> str:
    cell, end = entry.cell, schema.SHARES.get(entry.cell.unit)
    if end and not 0 < entry.value <= end:
        return f"is {entry.value:f} in {cell.unit}, above {end}. Check the unit"
    if end and entry.value * FAR < cell.number:
        return f"is less than 1/{FAR} of the published {cell.printed.plain}. Check the unit"
    if entry.report.how.start == "unknown" and entry.difference == 0:
        return "repeats the published number without a method"
    return ""


def _source_faults(content: Reports) -> Iterator[Fault]:
    for source_name in content.sources.keys() - {report.source for report in content.values}:
        yield ("sources", source_name), "no value names this source"
    names: dict[Source, str] = {}
    for name, source in content.sources.items():
        first = names.setdefault(source.model_copy(update={"name": ""}), name)
        if first != name:
            yield ("sources", name), f"has the authors and the place of source {first!r}"


def _run_faults(content: Reports, cells_by_id: dict[str, Cell]) -> Iterator[Fault]:
    for number, search in enumerate(content.searches):
        for beginning in search.runs:
            cells = (c for c in cells_by_id.values() if (c.column.dataset or "").startswith(beginning))
            if not any(search.id in (cell.row.system, cell.row.group) for cell in cells):
                yield ("searches", number, "runs"), f"no cell of {search.id} is on {beginning!r}"
