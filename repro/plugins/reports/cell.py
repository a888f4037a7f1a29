"""What others state of a cell where it is shown by itself: its page in the terminal, its card in a report.

Beside it stands where runs of others lie that it could be scored by: at hand, elsewhere, or nowhere found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from repro.exchange.public_runs import cells_of_run, only_scorable, public_runs
from repro.manifest.cells import Cell
from repro.manifest.papers import kept_with_papers
from repro.plugins.reports.others import HOW, OTHERS, OthersValues, others_values
from repro.plugins.reports.reports import CellReport, Search, searches
from repro.verdicts.additions import CellPart
from repro.writers.html.elements import Content, Markup, el

IN_FULL = 4  # values of a cell that are printed one by one without being asked


class OthersOfCell(CellPart):
    """The lines on what others state of a cell, and the place of the released run that one of them scored."""

    def __init__(self, cell: Cell):
        self._values = others_values(cell)
        self.facts = {OTHERS.name: OTHERS.as_json(self._values)}
        runs = [report for report in self._values.reports if report.making == "run"] if self._values else []
        self.source_of_a_run = runs[0].source.place if runs else ""
        self._places = run_places([cell])
        self.facts["run_elsewhere"] = next((place.elsewhere or None for place in self._places), None)

    def below_measured(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        """Yield where a run lies, then values of others, of several their sum and some of them one by one."""
        yield from (("run elsewhere", str(p)) for p in self._places if p.elsewhere or not p.at_hand)
        values = self._values
        if values is None:
            return
        if values.count == 1:
            yield OTHERS.label, f"1 value, {in_a_line(values.closest)}"
            return
        most = None if verbose else IN_FULL
        yield OTHERS.label, str(values)
        yield from (("value", in_a_line(report)) for report in values.reports[:most])
        if most and values.count > most:
            yield "values", f"{values.count - most} more, which --verbose tells"


def in_a_line(cell_report: CellReport) -> str:
    """Return one report in a line: value, maker, making, match and place."""
    report, source = cell_report.report, cell_report.source
    place = f"{source.place}{f', {report.at}' if report.at else ''}"
    parts = [f"{cell_report.value:f} {source.name} ({source.who}): {HOW[report.how.start]}"]
    parts += [f"differs: {', '.join(report.how.differs)}"] if report.how.differs else []
    parts += [f"match {report.match}", place, *filter(None, [report.note])]
    return "; ".join(parts)


WHO = {
    "authors": "the system's authors",
    "toolkit": "a toolkit",
    "independent": "independent",
    "later-paper": "a later paper",
}


def line(values: OthersValues) -> Markup:
    """Return the report that is closest in kind, in quotation marks, and how many there are."""
    prefix = el("span", ", stated by others ", class_="unseen")
    count = f" ×{values.count}" if values.count > 1 else None
    return el("span", prefix, f"“{values.shown}”", count, class_="ours others", title=str(values))


def on_card(others: OthersValues) -> Content:
    """Return the closest report and, folded, the others."""
    first = _report(others.closest)
    if len(others.reports) == 1:
        return first
    summary = el("summary", f"{len(others.reports)} values, {others.between}: the others")
    items = [el("li", _report(entry)) for entry in others.reports[1:]]
    return first, el("details", summary, el("ul", items, class_="notes"))


def _report(entry: CellReport) -> Content:
    report = entry.report
    facts = [HOW[report.how.start], *report.how.differs]
    facts += [f"match {report.match}"] if report.match != "exact" else []
    facts += [report.note] if report.note else []
    return el("b", entry.shown), f" {'; '.join(facts)} (", _source(entry), ")"


def _source(entry: CellReport) -> Content:
    source, place = entry.source, entry.report.at
    return el("a", f"{source.name}, {WHO[source.who]}", href=source.address, title=place or None)


@dataclass(frozen=True)
class RunPlace:
    """What is known of public runs of a cell's system on its collection."""

    cell: Cell
    search: Search

    @cached_property
    def at_hand(self) -> bool:
        """Whether public_runs.yaml has one that is deep enough."""
        return any(cells_of_run(run, [self.cell])[0] for run in public_runs())

    @property
    def elsewhere(self) -> str:
        """Return where one lies that nobody imported, in words; empty where none was found."""
        return self.search.run_on(self.cell.column.dataset or "")

    def __str__(self) -> str:
        number = len(set(self.search.places))
        return self.elsewhere or f"none found in {number} places (last look {self.search.date})"


def run_places(cells: Iterable[Cell]) -> list[RunPlace]:
    """Return the places of those cells that a run can be scored for, and whose own system was looked for."""
    found = ((cell, _searches().get(cell.row.system)) for cell in only_scorable(cells))
    return [RunPlace(cell, search) for cell, search in found if search]


def in_words(places: list[RunPlace]) -> str:
    """Return for how many cells a run is at hand, lies elsewhere only, or was not found."""
    at_hand = sum(place.at_hand for place in places)
    elsewhere = sum(bool(place.elsewhere) and not place.at_hand for place in places)
    missing = len(places) - at_hand - elsewhere
    return f"{at_hand} at hand, {elsewhere} elsewhere, {missing} not found" if places else "–"


@kept_with_papers
def _searches() -> dict[str, Search]:
    return {search.id: search for group in searches().values() for search in group}
