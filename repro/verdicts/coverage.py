"""The coverage of a paper, e.g. the strongest way to measure each cell."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from repro.graph import grouped
from repro.hooks import CellNote, call, notes
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cells_of, every_cell, exhibits, is_measured, missing_setting
from repro.manifest.papers import Paper
from repro.running.measurement import COMPUTED
from repro.running.recipe_calls import recipe_path
from repro.store.results import Record, Results
from repro.verdicts.evidence import is_measurement

WAYS = ("recipe", "checkpoint", "run", "computed", "not measurable", "open")
IMPORTED = ", imported"  # after the scale of runs by others
RELEASED = "released"  # the module of recipes with released checkpoints
# strongest first -> meaning
WAYS_OF_KNOWING = {
    "measured": "measured here at full scale",
    "run by others": "a public run by others, scored here",
    "stated by others (exact)": "reported elsewhere for the same system and data",
    "stated by others (close)": "reported elsewhere with a small difference",
    "stated by others (loose)": "reported elsewhere, only the name matches",
    "rehearsed": "rehearsed at a smaller scale, not compared",
    "nothing known": "neither measured nor reported elsewhere",
}


@dataclass(frozen=True)
class CoverageItem:
    """One cell, point of a figure, or exhibit.

    Attributes:
        place: ``table 1`` or ``figure 3``.
        way: the strongest of ``WAYS``.
        measured: scales with a record or drawing. ``full, imported`` means by runs by others only.
        reason: why it is not measurable, or the missing entry of an open cell.
        equal: whether the closest value reported elsewhere equals the published one.
    """

    id: str
    paper: str
    place: str
    way: str
    measured: tuple[str, ...]
    recipe: str | None = None
    reason: str = ""
    counted_as: str | None = "published"
    equal: bool = False
    notes: tuple[CellNote, ...] = ()

    @property
    def known(self) -> str:
        """The best evidence for the number, a key of ``WAYS_OF_KNOWING``."""
        if "full" in self.measured:
            return "measured"
        if f"full{IMPORTED}" in self.measured:
            return "run by others"
        if self.notes:
            return f"stated by others ({self.notes[0].match})"
        return "rehearsed" if self.rehearsed else "nothing known"

    def as_json(self) -> dict:
        names = ("id", "counted_as", "way", "measured", "recipe", "reason")
        facts = {name: getattr(self, name) for name in names}
        return facts | {"others": self.notes[0].match if self.notes else ""}

    @property
    def rehearsed(self) -> list[str]:
        return [scale for scale in self.measured if scale != "full" and not scale.endswith(IMPORTED)]


def coverage(source: Paper, results: Results) -> list[CoverageItem]:
    """Return all cells, points and exhibits of a paper in printed order."""
    records = grouped(
        (record.cell, record)
        for scale in usual_first(results.scales("records"))
        for record in results.read(scale, source.name)
    )
    items = [_coverage_item(cell, records[cell.id]) for cell in every_cell(source) if is_measured(cell)]
    for exhibit in exhibits((source.name,)):
        place = place_of(exhibit.owner)
        scales = _drawing_scales(results, source.name, place)
        path = recipe_path(exhibit)
        names = exhibit.id, source.name, place
        items.append(CoverageItem(*names, "recipe", scales, path, counted_as="drawing"))
    return items


@dataclass(frozen=True)
class Tally:
    """The cells of tables and figures, counted by way and by scale.

    ``what`` is the counted place or paper. ``idle`` counts cells with words, which cannot be measured.
    ``settings`` counts cells with settings by state, e.g. "as published".
    """

    paper: str
    what: str
    cells: Sequence[CoverageItem]
    idle: int = 0
    settings: Counter[str] = field(default_factory=Counter)

    @property
    def published(self) -> "Tally":
        return replace(self, cells=[c for c in self.cells if c.counted_as == "published"])

    @property
    def apart(self) -> "Tally":
        """The tally of the cells that are not published numbers, e.g. points of figures."""
        return replace(self, cells=[c for c in self.cells if c.counted_as != "published"])

    @property
    def ways(self) -> dict[str, int]:
        return {way: sum(c.way == way for c in self.cells) for way in WAYS}

    @property
    def known(self) -> dict[str, int]:
        counts = Counter(c.known for c in self.cells)
        return {name: counts[name] for name in WAYS_OF_KNOWING}

    @property
    def ways_shown(self) -> tuple[str, ...]:
        return tuple(way for way in WAYS if way != "open" or self.ways[way])

    @property
    def measured(self) -> Counter[str]:
        return Counter(scale for c in self.cells for scale in c.measured)

    def as_json(self) -> dict:
        return {
            "paper": self.paper,
            "what": self.what,
            **self.published._counts(),
            "apart": self.apart._counts(),
            "settings": dict(self.settings),
            "nothing_to_measure": self.idle,
            "detail": [c.as_json() for c in self.cells],
        }

    def _counts(self) -> dict:
        numbers = {"ways": self.ways, "measured": dict(self.measured), "known": self.known}
        return {"cells": len(self.cells), **numbers}


def tallies(source: Paper, results: Results) -> list[Tally]:
    cells = coverage(source, results)
    tables = {place_of(table.id): (table,) for table in source.manifest.tables}
    places = (*tables, *(place_of(f"figure-{figure.id}") for figure in source.manifest.figures))
    states = call("settings by table", source) or {}
    settings = {place_of(table): Counter(counts) for table, counts in states.items()}
    return [
        Tally(
            source.name,
            place,
            [c for c in cells if c.place == place],
            _unmeasured(cells_of(source, tables.get(place, ()))),
            settings.get(place, Counter()),
        )
        for place in places
    ]


def _unmeasured(cells: Iterable[Cell]) -> int:
    return sum(not (is_measured(c) or c.is_setting or c.printed.is_dash) for c in cells)


def still_asked(source: Paper) -> list[str]:
    """Return the places where a draft's text begins with ``todo``, e.g. "the title"."""
    facts = {"the title": source.manifest.title, "the venue": source.manifest.venue}
    for table in source.manifest.tables:
        facts[f"about of table {table.id}"] = table.about
        facts |= {f"mark {mark} of table {table.id}": entry.property for mark, entry in table.marks.items()}
        facts |= {f"label of {row.id} of table {table.id}": row.label for row in table.rows}
    facts |= {f"reading {id}": reading.where for id, reading in source.readings.items()}
    return [place for place, text in facts.items() if text.startswith("todo")]


def refuse_open(source: Paper, items: Iterable[CoverageItem]) -> None:
    """Raise ManifestError if a paper has open cells."""
    open_ids = {item.id for item in items if item.way == "open"}
    opened = [cell for cell in every_cell(source) if cell.id in open_ids]
    if not opened:
        return
    first, table = opened[0], opened[0].table
    place = "rows", table.rows.index(first.row)
    if not (first.column.dataset or first.column.mean_of):
        place = "columns", [column.id for column in table.columns].index(first.column.id)
    reason = f"cell {first.id} has {missing_setting(first)}, or say under not_measurable why there is none"
    rows = list(dict.fromkeys(f"{cell.table.id}/{cell.row.id}" for cell in opened))
    reason += f". {len(rows)} rows have open cells: {', '.join(rows)}" if len(rows) > 1 else ""
    location = ("tables", source.manifest.tables.index(table), *place)
    raise yaml_file.fault_at(source.folder / "cells.yaml", location, reason)


def total(parts: Iterable[Tally], *, what: str) -> Tally:
    parts = list(parts)
    cells = [c for part in parts for c in part.cells]
    settings = sum((part.settings for part in parts), Counter())
    return Tally("", what, cells, sum(part.idle for part in parts), settings)


def usual_first(scales: Iterable[str]) -> list[str]:
    """Sort scales, with full, small and tiny first."""
    usual_names = ("full", "small", "tiny")
    return [name for name in usual_names if name in scales] + sorted(set(scales) - set(usual_names))


def place_of(owner: str) -> str:
    """Return ``table 1`` for ``1``, ``figure 3`` for ``figure-3``."""
    return owner.replace("figure-", "figure ") if owner.startswith("figure-") else f"table {owner}"


def _coverage_item(cell: Cell, records: Sequence[Record]) -> CoverageItem:
    way, stated = _way(cell, records), notes(cell)
    refusals = {"not measurable": cell.column.not_measurable or cell.row.not_measurable}
    refusals["open"] = missing_setting(cell)
    definition = cell.column.measure or "", cell.unit
    own_scales = {r.scale: None for r in records if is_measurement(r, *definition, {})}
    imported = {f"{r.scale}{IMPORTED}": None for r in records if r.origin and r.scale not in own_scales}
    return CoverageItem(
        cell.id,
        cell.paper.name,
        place_of(cell.table.id),
        way,
        (*own_scales, *imported),
        recipe=recipe_path(cell) if way not in ("run", *refusals) else None,
        reason=refusals.get(way, ""),
        counted_as=cell.counted_as,
        equal=bool(stated) and cell.is_numeric and cell.equals(stated[0].value),
        notes=stated,
    )


def _way(cell: Cell, records: Sequence[Record]) -> str:
    is_defined = bool(cell.column.dataset or cell.column.mean_of)
    if cell.recipe and is_defined and not cell.column.not_measurable:
        if cell.column.kind in COMPUTED:
            return "computed"
        module = recipe_path(cell).partition(":")[0]
        return "checkpoint" if module.rpartition(".")[2] == RELEASED else "recipe"
    if any(record.origin for record in records):
        return "run"
    return "open" if missing_setting(cell) else "not measurable"


def _drawing_scales(results: Results, paper: str, place: str) -> tuple[str, ...]:
    stem = f"{paper}-{place.replace(' ', '')}"
    return tuple(
        scale
        for scale in usual_first(results.scales("figures"))
        if any(f"{path.stem}-".startswith(f"{stem}-") for path in results.figures(scale))
    )
