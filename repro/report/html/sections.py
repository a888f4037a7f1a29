"""Everything that the page of a report shows, gathered from manifests, results and store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from repro.judging.audit.collected import audit
from repro.judging.audit.findings import Finding
from repro.judging.claims.judged import Judged, judged
from repro.judging.claims.values import Measured
from repro.judging.compared import Compared, Comparison
from repro.judging.comparison import judged_cells
from repro.judging.coverage import Covered, coverage
from repro.judging.studies import costs, entries
from repro.manifest.papers import Paper
from repro.manifest.schema import Reading
from repro.report.html.scatter import Scatter, scatters
from repro.running.cell_readings import CellReadings
from repro.running.plan import Plan
from repro.store import Store
from repro.store.results import Results

DRAWN = (".svg", ".html", ".md")


@dataclass(frozen=True)
class Study:
    """A study's table: (row, column) -> entry, row -> cost; see ``repro.judging.studies``."""

    entries: Mapping
    costs: Mapping


@dataclass(frozen=True)
class Part:
    """The part of one paper.

    Attributes:
        compared: its measured or measurable cells, points of figures included.
        drawings: table or ``figure-N`` -> files of the results folder that show it.
        scatters: table -> rows against the row of reference, query by query.
    """

    paper: Paper
    compared: Sequence[Compared] = ()
    covered: Sequence[Covered] = ()
    statements: Sequence[Judged] = ()
    findings: Sequence[Finding] = ()
    drawings: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    scatters: Mapping[str, Sequence[Scatter]] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    readings: Sequence[Reading] = ()

    @property
    def counts(self) -> Counter:
        """Verdict -> how many cells have it."""
        return Counter(c.verdict.name for c in self.compared)


@dataclass(frozen=True)
class Report:
    """The content of one page; ``comparison`` holds the tests between rows."""

    scale: str
    comparison: Comparison
    parts: Sequence[Part]

    def dates(self) -> tuple[str, str] | None:
        """First and last day on which a shown number was recorded; None without one."""
        days = sorted(
            r.recorded[:10] for p in self.parts for c in p.compared for r in c.records if r.recorded
        )
        return (days[0], days[-1]) if days else None


def gather(plan: Plan, results: Results, store: Store) -> Report:
    """Everything there is on the papers of a plan; nothing is run, and the store may be empty.

    Raises what reading manifests, results and store raises.
    """
    comparison = judged_cells(plan, results, store)
    known = CellReadings(plan.machine.data)
    comparison.readings = {c.cell.id: known.of(c.cell) for c in comparison.cells}
    parts = []
    by_paper = groupby(comparison.cells, key=lambda c: c.cell.paper.name)
    for name, cells in [(name, list(group)) for name, group in by_paper]:
        source = cells[0].cell.paper
        parts.append(
            Part(
                source,
                cells,
                coverage(source, results),
                judged([source], Measured(comparison), scale=plan.scale.name),
                [finding for finding in audit([source]) if finding.paper == name],
                drawings(results.figures(plan.scale.name), source),
                scatters(plan, store, name),
                studies(plan, store, source),
                [source.readings[name] for name in known.places(source)],
            )
        )
    return Report(plan.scale.name, comparison, parts)


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


def studies(plan: Plan, store: Store, source: Paper) -> dict[str, Study]:
    """The paper's tables of kind study, where something of them is stored."""
    tables = {}
    for table in source.manifest.tables:
        if table.kind == "study":
            own = plan.of_table(source.name, table.id)
            measured = entries(own, store, reference=table.delta_from)
            if measured:
                tables[table.id] = Study(measured, costs(own, store))
    return tables
