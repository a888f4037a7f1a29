"""The content of a report's pages, e.g. a part per paper."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from repro.errors import first_of
from repro.graph import grouped
from repro.hooks import Answers, PaperPart, Section, ask, call
from repro.manifest.cells import Cell, count_in_words
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.running.cell_readings import CellReadings
from repro.running.cost.estimate import assumed_throughput, estimate
from repro.running.plan import Plan
from repro.running.requirements import Machine
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.comparison import judged_cells
from repro.verdicts.coverage import CoverageItem, coverage
from repro.writers.html.elements import Markup
from repro.writers.table_files import table_texts, writer_of

DRAWN = (".svg", ".html", ".md")
DEVICE = "h100"
FEW = 4


@dataclass(frozen=True)
class Sources:
    papers: Mapping[str, Paper]
    cells: Sequence[Cell]
    known: CellReadings
    results: Results
    store: Store
    machine: Machine

    def answers(self, pointers: Iterable[str]) -> Answers:
        """Return pointer to a study's comparison -> the measured difference."""
        return call("study answers", list(dict.fromkeys(pointers)), self) or {}


@dataclass(frozen=True)
class View:
    """The comparison of all papers at one scale, and one paper's cells, drawings and tables by id."""

    comparison: Comparison
    compared: Sequence[ComparedCell]
    drawings: Mapping[str, Sequence[Path]]
    own_tables: Mapping[str, Markup]
    latex: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """The part of one paper at one scale.

    ``home`` is the address of the page with the sections that are equal at all scales, "" for this page.
    ``rests_on`` maps ids of cells to ids of the readings behind their numbers.
    """

    paper: Paper
    scale: str
    view: View
    home: str = ""
    covered: Sequence[CoverageItem] = ()
    readings: Sequence[Reading] = ()
    rests_on: Mapping[str, Collection[str]] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    of_plugins: Sequence[PaperPart] = ()

    @cached_property
    def more_sections(self) -> list[Section]:
        return sorted((s for part in self.of_plugins for s in part.sections(self)), key=lambda s: s.rank)

    def cells(self, owner: str | None = None) -> Sequence[ComparedCell]:
        """Return the cells, optionally of a table or figure, e.g. ``figure-2``."""
        return [c for c in self.view.compared if owner in (None, c.cell.table.id)]


@dataclass(frozen=True)
class Report:
    """The content of one page, for one scale.

    ``selected`` are the cells to count. ``remaining_cost`` describes the cost of full scale in words.
    ``made`` are the day of the report and the commit of the suite.
    """

    scale: str
    parts: Sequence[Part]
    selected: Sequence[Cell]
    known: Mapping[str, Sequence[CoverageItem]]
    remaining_cost: str
    made: Sequence[str]

    @property
    def compared(self) -> list[ComparedCell]:
        return [c for part in self.parts for c in part.cells()]

    @property
    def words(self) -> str:
        measured = {c.id for items in self.known.values() for c in items if self.scale in c.measured}
        return count_in_words(self.selected, measured=measured, scale=self.scale)

    @property
    def dates(self) -> tuple[str, str] | None:
        """The days of the first and the last record."""
        days = sorted(r.recorded[:10] for c in self.compared for r in c.records if r.recorded)
        return (days[0], days[-1]) if days else None


def gather(
    plans: Sequence[Plan],
    results: Results,
    store: Store,
    *,
    selected: Sequence[Cell],
    home: str,
    made: Sequence[str],
) -> list[Report]:
    """Return one report per plan, without running a stage.

    ``selected`` are all cells to count. ``home`` is the address of the first plan's
    page, which has the sections that are equal at all scales.
    """
    sources = {cell.paper.name: cell.paper for cell in selected}
    known = {name: coverage(source, results) for name, source in sources.items()}
    machine = plans[0].machine
    facts = _facts(Sources(sources, selected, CellReadings(machine), results, store, machine))
    pages = [dict(_views(plan, results, store)) for plan in plans]
    remaining_cost, reports = _remaining_cost(plans), []
    earlier: set[str] = set()
    for plan, views in zip(plans, pages, strict=True):
        parts = [
            Part(sources[n], plan.scale.name, view, home if n in earlier else "", known[n], **facts[n])
            for n, view in views.items()
        ]
        earlier |= views.keys()
        reports.append(Report(plan.scale.name, parts, selected, known, remaining_cost, made))
    return reports


def _facts(made_from: Sources) -> dict[str, dict]:
    readings = [r for source in made_from.papers.values() for r in source.readings.values()]
    answers = made_from.answers(pointer for r in readings for pointer in r.study)
    of_plugins = list(filter(None, ask().part_of_paper(sources=made_from)))
    return {
        name: {
            "readings": [source.readings[place] for place in made_from.known.places(source)],
            "rests_on": {c.id: made_from.known.of(c) for c in made_from.cells if c.paper.name == name},
            "answers": answers,
            "of_plugins": of_plugins,
        }
        for name, source in made_from.papers.items()
    }


def _remaining_cost(plans: Sequence[Plan]) -> str:
    for plan in plans:
        if plan.scale.name == "full":
            cost, names = estimate(plan, assumed_throughput(DEVICE), None), plan.lacking.names
            hours = f"about {cost.hours_in_words(plan.needed())} hours of one {DEVICE.upper()}"
            return hours + (f"; lacking here: {first_of(names, FEW)}" if names else "")
    return ""


def _views(plan: Plan, results: Results, store: Store) -> Iterator[tuple[str, View]]:
    comparison = judged_cells(plan, results, store)
    files = table_texts(comparison, plan, store, results=results, form="latex")
    texts = {file.name: file.text for file in files}
    for name, group in groupby(comparison.cells, key=lambda c: c.cell.paper.name):
        cells = list(group)
        source = cells[0].cell.paper
        figures = drawings(results.figures(plan.scale.name), source)
        latex = {t.id: texts.get(f"{name}-table{t.id}.tex", "") for t in source.manifest.tables}
        yield name, View(comparison, cells, figures, own_tables(cells, plan, store, results), latex)


def drawings(files: Iterable[Path], source: Paper) -> dict[str, list[Path]]:
    """Return a paper's drawings by table or figure, e.g. ``figure-2``."""
    owners = {f"{source.name}-table{t.id}": t.id for t in source.manifest.tables}
    owners |= {f"{source.name}-figure{f.id}": f"figure-{f.id}" for f in source.manifest.figures}
    named = [(owners.get("-".join(path.stem.split("-")[:2])), path) for path in files]
    return grouped((owner, path) for owner, path in named if owner and path.suffix in DRAWN)


def own_tables(
    cells: Sequence[ComparedCell], plan: Plan, store: Store, results: Results
) -> dict[str, Markup]:
    """Return table id -> HTML for the tables that a plugin writes."""
    source, own = cells[0].cell.paper, grouped((c.cell.table.id, c) for c in cells)
    shown = {
        table.id: writer.html(source, table, own[table.id], plan, store, results)
        for table in source.manifest.tables
        if (writer := writer_of(table))
    }
    return {table: html for table, html in shown.items() if html}
