"""Everything that the page of a report shows, gathered from manifests, results and store."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from repro.manifest.cells import Cell, count_in_words
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.plugins.settings.checked import checked_parameters
from repro.plugins.settings.parameter import CheckedParameter
from repro.plugins.settings.released_code import Certificate, certificates
from repro.plugins.statements.collected import audit
from repro.plugins.statements.findings import Finding
from repro.plugins.statements.judged import JudgedStatement, PublishedJudgement, print_judgements
from repro.plugins.statements.values import MeasuredValues
from repro.plugins.studies.studies import Study, study_of
from repro.plugins.studies.study_answers import Answer, StudyRecords, answers, pointers_of
from repro.running.cell_readings import CellReadings
from repro.running.cost.estimate import estimate
from repro.running.cost.throughput import assumed_throughput
from repro.running.node_obstacles import distinct_obstacles
from repro.running.plan import Plan
from repro.running.requirements import Machine
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.comparison import judged_cells
from repro.verdicts.coverage import CoverageItem, coverage
from repro.writers.html.scatter import Scatter, scatters
from repro.writers.table_files import table_texts

DRAWN = (".svg", ".html", ".md")
DEVICE = "h100"  # whose hours are told
FEW = 4  # things lacking that are named


@dataclass(frozen=True)
class View:
    """The comparison, claims and studies of a paper at one scale.

    Attributes:
        comparison: of all papers; it holds the tests between rows.
        compared: the paper's measured or measurable cells, points of figures included.
        drawings: table or ``figure-N`` -> files of the results folder that show it.
        scatters: table -> rows against the row of reference, query by query.
        latex: table -> the text that ``repro tables`` writes of it.
    """

    comparison: Comparison
    compared: Sequence[ComparedCell] = ()
    statements: Sequence[JudgedStatement] = ()
    drawings: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    scatters: Mapping[str, Sequence[Scatter]] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    latex: Mapping[str, str] = field(default_factory=dict)

    def of(self, owner: str) -> list[ComparedCell]:
        """The cells of a table, or of ``figure-N``."""
        return [c for c in self.compared if c.cell.table.id == owner]


@dataclass(frozen=True)
class Part:
    """The part of one paper at one scale.

    Attributes:
        home: the address of the page that holds what is of no scale (audit, unspecified choices, settings,
            released code); empty where that is this page.
        rests_on: cell -> the readings that its number rests on.
        certified: cell -> how far the work behind it is from released code.
        settings: every planned parameter beside what is stated; none where no settings.yaml states anything.
        answers: comparison that a reading or claim points at -> what a study measured of it.
    """

    paper: Paper
    scale: str
    view: View
    home: str = ""
    covered: Sequence[CoverageItem] = ()
    findings: Sequence[Finding] = ()
    readings: Sequence[Reading] = ()
    rests_on: Mapping[str, Collection[str]] = field(default_factory=dict)
    certified: Mapping[str, Sequence[Certificate]] = field(default_factory=dict)
    settings: Sequence[CheckedParameter] = ()
    answers: Mapping[str, Sequence[Answer]] = field(default_factory=dict)

    @cached_property
    def settings_by_row(self) -> Mapping[str, Sequence[CheckedParameter]]:
        """Row -> the planned parameters that its card counts."""
        by_row: dict[str, list[CheckedParameter]] = {}
        for item in self.settings:
            by_row.setdefault(item.row, []).append(item)
        return by_row

    def cells(self, owner: str | None = None) -> Sequence[ComparedCell]:
        """The compared cells, or those of one table or of ``figure-N``."""
        return self.view.of(owner) if owner else self.view.compared


@dataclass(frozen=True)
class Report:
    """The content of one page, which is of one scale.

    Attributes:
        selected: the cells that the report is about, of which a page shows those with something at its scale.
        known: paper -> the selected cells by the way to measure them and by what is known of them.
        to_do: paper -> what measuring its published cells at full takes, where that scale was planned.
        made: the day on which the page is made, and the commit of the suite, where they are known.
    """

    scale: str
    parts: Sequence[Part]
    selected: Sequence[Cell] = ()
    known: Mapping[str, Sequence[CoverageItem]] = field(default_factory=dict)
    to_do: Mapping[str, str] = field(default_factory=dict)
    made: tuple[str, ...] = ()

    @property
    def compared(self) -> list[ComparedCell]:
        """The cells of all papers."""
        return [c for part in self.parts for c in part.cells()]

    @property
    def words(self) -> str:
        """How many of the selected cells are measured at this scale, as every outlet says it."""
        measured = {c.id for items in self.known.values() for c in items if self.scale in c.measured}
        return count_in_words(self.selected, measured=measured, scale=self.scale)

    @property
    def dates(self) -> tuple[str, str] | None:
        """First and last day on which a number was recorded; None without one."""
        days = sorted(r.recorded[:10] for c in self.compared for r in c.records if r.recorded)
        return (days[0], days[-1]) if days else None


def gather(
    plans: Sequence[Plan],
    results: Results,
    store: Store,
    *,
    selected: Sequence[Cell] = (),
    home: str = "",
    made: tuple[str, ...] = (),
) -> list[Report]:
    """Gather everything there is on the papers of plans, a report for each plan's scale; nothing is run.

    The store may be empty. Raises what reading manifests, results and store raises.

    Args:
        selected: all cells that are counted; without it those of the plans.
        home: the address of the first plan's page, which holds of each paper what is of no scale.
    """
    cells = selected or list({cell.id: cell for plan in plans for cell in plan.cells}.values())
    sources = {cell.paper.name: cell.paper for cell in cells}
    statements = {name: print_judgements(source) for name, source in sources.items()}
    known = {name: coverage(source, results) for name, source in sources.items()}
    facts = _facts(cells, sources, known, results, store, plans[0].machine)
    pages = [dict(_views(plan, results, store, statements)) for plan in plans]
    to_do = _to_do(plans)
    parts = _parts([plan.scale.name for plan in plans], pages, sources, facts, home)
    return [Report(scale, own, cells, known, to_do, made) for scale, own in parts.items()]


def _parts(
    scales: Sequence[str],
    pages: Sequence[Mapping[str, View]],
    sources: Mapping[str, Paper],
    facts: Mapping[str, dict],
    home: str,
) -> dict[str, list[Part]]:
    """Scale -> its parts; a paper that was on an earlier page has what is of no scale there, at home."""
    parts: dict[str, list[Part]] = {}
    earlier: set[str] = set()
    for scale, views in zip(scales, pages, strict=True):
        parts[scale] = [
            Part(sources[name], scale, view, home if name in earlier else "", **facts[name])
            for name, view in views.items()
        ]
        earlier |= views.keys()
    return parts


def _facts(
    cells: Iterable[Cell],
    sources: Mapping[str, Paper],
    known: Mapping[str, Sequence[CoverageItem]],
    results: Results,
    store: Store,
    machine: Machine,
) -> dict[str, dict]:
    """Paper -> everything of its part that is of no scale."""
    cell_readings, findings = CellReadings(machine), audit(list(sources.values()))
    evidence, facts = StudyRecords(results, store, machine), {}
    for name, source in sources.items():
        own = [cell for cell in cells if cell.paper.name == name]
        facts[name] = {
            "covered": known[name],
            "findings": [finding for finding in findings if finding.paper == name],
            "rests_on": {cell.id: cell_readings.of(cell) for cell in own},
            "certified": {cell.id: certificates(cell_readings.nodes(cell)) for cell in own},
            "readings": [source.readings[name] for name in cell_readings.places(source)],
            "settings": checked_parameters(source, machine) if source.steps else (),
            "answers": answers(pointers_of(source), evidence),
        }
    return facts


def _to_do(plans: Sequence[Plan]) -> dict[str, str]:
    """Paper -> what the rest of it takes, hours of a GPU and what this machine lacks; "" is all of them."""
    if (plan := next((plan for plan in plans if plan.scale.name == "full"), None)) is None:
        return {}
    cost, obstacles = estimate(plan, assumed_throughput(DEVICE), None), plan.machine.obstacles
    to_do = {}
    for name, nodes in {"": cost.nodes, **cost.by_paper}.items():
        in_the_way = (obstacles[n.fingerprint] for n in nodes if n.fingerprint in obstacles)
        names = distinct_obstacles(in_the_way).names
        more = f" and {len(names) - FEW} more" if names[FEW:] else ""
        hours = f"about {cost.hours(nodes):,.0f} hours of one {DEVICE.upper()}, as assumed"
        lacking = f"; lacking here: {', '.join(names[:FEW])}{more}" if names else ""
        to_do[name] = hours + lacking
    return to_do


def _views(
    plan: Plan, results: Results, store: Store, statements: Mapping[str, Sequence[PublishedJudgement]]
) -> Iterator[tuple[str, View]]:
    comparison = judged_cells(plan, results, store)
    texts = {file.name: file.text for file in table_texts(comparison, plan, store, seeds=(), results=results)}
    measured_values = MeasuredValues(comparison)
    for name, group in groupby(comparison.cells, key=lambda c: c.cell.paper.name):
        cells = list(group)
        source = cells[0].cell.paper
        yield (
            name,
            View(
                comparison,
                cells,
                [judgement.judged(measured_values, plan.scale.name) for judgement in statements[name]],
                drawings(results.figures(plan.scale.name), source),
                scatters(plan, store, name),
                studies(comparison, plan, store, source, results),
                {t.id: texts.get(f"{name}-table{t.id}.tex", "") for t in source.manifest.tables},
            ),
        )


def drawings(files: Iterable[Path], source: Paper) -> dict[str, list[Path]]:
    """The drawings and views of a paper at one scale, by the table or figure they belong to."""
    owners = {f"table{t.id}": t.id for t in source.manifest.tables}
    owners |= {f"figure{f.id}": f"figure-{f.id}" for f in source.manifest.figures}
    by_owner: dict[str, list[Path]] = {}
    for path in files:
        paper, _, place = path.stem.partition("-")
        owner = owners.get(place.partition("-")[0])
        if paper == source.name and owner and path.suffix in DRAWN:
            by_owner.setdefault(owner, []).append(path)
    return by_owner


def studies(
    comparison: Comparison, plan: Plan, store: Store, source: Paper, results: Results
) -> dict[str, Study]:
    """The paper's tables of kind study, where something of them is known."""
    tables, cells = {}, [c for c in comparison.cells if c.cell.paper.name == source.name]
    for table in source.manifest.tables:
        if table.kind == "study":
            study = study_of(plan, store, source=source, table=table, cells=cells, results=results)
            if study.entries:
                tables[table.id] = study
    return tables
