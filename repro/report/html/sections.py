"""Everything that the page of a report shows, gathered from manifests, results and store."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from repro.judging.audit.collected import audit
from repro.judging.audit.findings import Finding
from repro.judging.claims.judged import JudgedStatement, PublishedJudgement, print_judgements
from repro.judging.claims.values import MeasuredValues
from repro.judging.compared import ComparedCell, Comparison
from repro.judging.comparison import judged_cells
from repro.judging.coverage import CoverageItem, coverage
from repro.judging.released_code import Certificate, certificates
from repro.judging.settings.checked import checked_parameters
from repro.judging.settings.parameter import CheckedParameter
from repro.judging.studies import Study, study_of
from repro.judging.study_answers import Answer, StudyRecords, answers, pointers_of
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.report.html.scatter import Scatter, scatters
from repro.report.table_files import table_texts
from repro.running.cell_readings import CellReadings
from repro.running.plan import Plan
from repro.store import Store
from repro.store.results import Results

DRAWN = (".svg", ".html", ".md")


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
    """The part of one paper.

    Attributes:
        views: scale -> what it shows; the same cells at every scale.
        rests_on: cell -> the readings that its number rests on.
        certified: cell -> how far the work behind it is from released code.
        settings: every planned parameter beside what is stated; none where no settings.yaml states anything.
        answers: comparison that a reading or claim points at -> what a study measured of it.
    """

    paper: Paper
    views: Mapping[str, View]
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

    def cells(self, owner: str | None = None) -> list[dict[str, ComparedCell]]:
        """The comparisons of each cell, or of each cell of one table, by scale."""
        by_scale = {
            name: {c.cell.id: c for c in (view.of(owner) if owner else view.compared)}
            for name, view in self.views.items()
        }
        ids = dict.fromkeys(i for cells in by_scale.values() for i in cells)
        return [{name: cells[i] for name, cells in by_scale.items() if i in cells} for i in ids]


@dataclass(frozen=True)
class Report:
    """The content of one page.

    Attributes:
        made: the day on which the page is made, and the commit of the suite, where they are known.
    """

    parts: Sequence[Part]
    made: tuple[str, ...] = ()

    @property
    def scales(self) -> list[str]:
        """Every scale there is a view of."""
        return list(dict.fromkeys(name for part in self.parts for name in part.views))

    @property
    def first(self) -> str:
        """The scale that is shown first: full where it has a number, else the one with the most."""
        return max(
            self.scales, key=lambda name: (name == "full" and self.measured(name) > 0, self.measured(name))
        )

    def compared(self, scale: str) -> list[ComparedCell]:
        """The cells of all papers at one scale."""
        return [c for part in self.parts if scale in part.views for c in part.views[scale].compared]

    def measured(self, scale: str) -> int:
        """How many cells have a number at a scale."""
        return sum(c.measured is not None for c in self.compared(scale))

    def dates(self, scale: str) -> tuple[str, str] | None:
        """First and last day on which a number of this scale was recorded; None without one."""
        days = sorted(r.recorded[:10] for c in self.compared(scale) for r in c.records if r.recorded)
        return (days[0], days[-1]) if days else None


def gather(plans: Sequence[Plan], results: Results, store: Store, *, made: tuple[str, ...] = ()) -> Report:
    """Everything there is on the papers of plans of the same cells, each at its own scale; nothing is run.

    The store may be empty. Raises what reading manifests, results and store raises.
    """
    machine = plans[0].machine
    cell_readings = CellReadings(machine)
    sources = list({cell.paper.name: cell.paper for cell in plans[0].cells}.values())
    statements = {source.name: print_judgements(source) for source in sources}
    by_paper: dict[str, dict[str, View]] = {}
    for plan in plans:
        for name, view in _views(plan, results, store, statements):
            by_paper.setdefault(name, {})[plan.scale.name] = view
    parts, findings = [], audit(sources)
    for views in by_paper.values():
        cells = [c.cell for c in next(iter(views.values())).compared]
        source = cells[0].paper
        parts.append(
            Part(
                source,
                views,
                coverage(source, results),
                [finding for finding in findings if finding.paper == source.name],
                rests_on={cell.id: cell_readings.of(cell) for cell in cells},
                certified={cell.id: certificates(cell_readings.nodes(cell)) for cell in cells},
                readings=[source.readings[name] for name in cell_readings.places(source)],
                settings=checked_parameters(source, machine) if source.steps else (),
                answers=answers(pointers_of(source), StudyRecords(results, store, machine)),
            )
        )
    return Report(parts, made)


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
