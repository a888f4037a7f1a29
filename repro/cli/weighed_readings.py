"""The readings of papers, or behind some cells, by weight, as `repro show readings` prints them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from repro.cli.study_answers import show_answers
from repro.errors import UsageError
from repro.judging.study_answers import Answer, answers_in, as_json
from repro.locations import Locations
from repro.manifest.cells import Cell, ShownExhibit, cell, cells_of, every_cell, exhibits, table_of
from repro.manifest.papers import Paper, paper, papers
from repro.running.cell_readings import CellReadings
from repro.running.cost.throughput import Throughput, assumed_throughput
from repro.running.reading_weights import Change, Weight, weights
from repro.running.requirements import Machine
from repro.running.workspace import Workspace

GROUPS = ("switches", "switches where another choice has another value", "notes")
DECISIVE_HEAD = ("choice", "kind", "what is open", "another value changes", "decides", "cheapest to know")


@dataclass(frozen=True)
class PaperReadings:
    """The readings of one paper.

    Attributes:
        weights: the weightiest first.
        places: id of a reading -> the rows, cells and tables that rest on it.
        elsewhere: ids of those that a recipe asks for only where another reading has another choice.
    """

    source: Paper
    weights: Sequence[Weight]
    places: dict[str, list[str]]
    elsewhere: set[str]

    def limited(self, *, kind: str | None, most: int | None) -> "PaperReadings":
        """The readings of a kind; with ``most`` only so many that can decide a published number."""
        matches = [w for w in self.weights if kind in (None, w.reading.kind)]
        decisive = [w for w in matches if w.decides][:most]
        return replace(self, weights=matches if most is None else decisive)

    def as_json(self) -> Iterator[dict]:
        """An object per reading."""
        for weight in self.weights:
            reading = weight.reading.model_dump(mode="json", exclude={"cells"})
            changes = [{"choice": c.choice, "part": c.part, "changes": list(c.what)} for c in weight.changes]
            facts = {"group": self.group(weight), "changes": changes, "decides": weight.decides}
            facts["study"] = as_json(self.answered, weight.reading.study)
            yield {"of": self.source.name, **reading, "affects": self.places[weight.reading.id], **facts}

    def show(self, gpu: str | None) -> None:
        """Print them: what decides with what it costs to know on a GPU, or all, switches first."""
        if gpu:
            return self._show_decisive(assumed_throughput(gpu))
        from repro.cli.printing import table

        head = ["id", "kind", "where", "what is open", "changes", "cells", "choices"]
        for group, members in groupby(self.weights, key=self.group):
            lines = [_line(weight) for weight in members]
            table(
                f"{self.source.name}: {len(lines)} {group} (default in brackets)",
                head,
                lines,
                drop=(2, 5, 1, 4),
            )
        pointers = [(weight.reading.id, weight.reading.study) for weight in self.weights]
        show_answers(self.source.name, "reading", pointers, self.answered)

    @cached_property
    def answered(self) -> Mapping[str, Sequence[Answer]]:
        """The answers of studies to its readings."""
        pointers = [text for weight in self.weights for text in weight.reading.study]
        return answers_in(Workspace.open(), pointers) if pointers else {}

    def show_citations(self) -> None:
        """Print what is cited from outside of the paper, and the choices that each speaks for."""
        from repro.cli.printing import table

        lines = [
            [w.reading.id, w.reading.default, c.who, c.says, " | ".join(c.choices), c.place]
            for w in self.weights
            for c in w.reading.citations
        ]
        head = ["id", "default", "who", "says", "speaks for", "place"]
        table(f"{self.source.name}: {len(lines)} citations from outside of the paper", head, lines)

    def group(self, weight: Weight) -> str:
        """The one of ``GROUPS`` that a reading belongs to; with a single choice nothing can be switched."""
        is_dormant = weight.reading.id in self.elsewhere and len(weight.reading.choices) > 1
        return GROUPS[0 if weight.changes else 1 if is_dormant else 2]

    def _show_decisive(self, rates: Throughput) -> None:
        from repro.cli.printing import say, table

        lines = [
            [w.reading.id, w.reading.kind, w.reading.paper, _changes(w), str(w.decides), _cost(w, rates)]
            for w in self.weights
        ]
        table(
            f"{self.source.name}: the {len(lines)} most decisive unspecified choices",
            DECISIVE_HEAD,
            lines,
            drop=(1, 4),
        )
        say(f"hours beside what the default has made, {rates.basis}; the order is the plan's, not measured")


def of_papers(names: Sequence[str], cells: Sequence[str], tables: Sequence[str]) -> Iterator[PaperReadings]:
    """The readings of papers, of some of their tables, or behind single cells.

    Raises UsageError for names that there are not, and for cells together with papers or tables.
    """
    if cells and (names or tables):
        raise UsageError("a cell is named by its path alone; leave papers and --table out")
    for source, source_cells in groupby(map(cell, cells), key=lambda item: item.paper):
        yield _weigh(source, list(source_cells), single=True)
    for source in map(paper, () if cells else names or papers()):
        readings = _weigh(source, _cells_and_exhibits(source, tuple(tables)), single=False)
        yield readings if tables else _with_unused(readings)


def _cells_and_exhibits(source: Paper, tables: tuple[str, ...]) -> list[Cell | ShownExhibit]:
    shown_tables = tuple(table_of(source, t) for t in tables)
    cells = cells_of(source, shown_tables) if shown_tables else every_cell(source)
    return [*cells, *exhibits((source.name,), tables)]


def _weigh(source: Paper, cells: Sequence[Cell | ShownExhibit], *, single: bool) -> PaperReadings:
    """Readings of another paper, whose recipe makes a row, are told of single cells only."""
    cell_readings = CellReadings(Machine(Locations.resolve().data))
    places = cell_readings.places(source)
    paper_weights = [w for w in weights(cells, cell_readings) if single or w.reading.id in places]
    places |= {w.reading.id: [c.id for c in w.cells] for w in paper_weights if w.reading.id not in places}
    return _in_groups(PaperReadings(source, paper_weights, places, cell_readings.asked_anywhere()))


def _with_unused(readings: PaperReadings) -> PaperReadings:
    """The readings, with those that no cell rests on as long as all choices are the default."""
    ids = {weight.reading.id for weight in readings.weights}
    unused = [Weight(readings.source.readings[name], (), ()) for name in readings.places if name not in ids]
    return _in_groups(replace(readings, weights=[*readings.weights, *unused]))


def _in_groups(readings: PaperReadings) -> PaperReadings:
    ordered = sorted(readings.weights, key=lambda weight: GROUPS.index(readings.group(weight)))
    return replace(readings, weights=ordered)


def _line(weight: Weight) -> list[str]:
    reading, number = weight.reading, str(len(weight.cells) or "")
    choices = (f"[{choice}]" if choice == reading.default else choice for choice in reading.choices)
    return [
        reading.id,
        reading.kind,
        reading.where,
        reading.paper,
        _changes(weight),
        number,
        " | ".join(choices),
    ]


def _changes(weight: Weight) -> str:
    change = weight.first
    return f"{change.part}: {'; '.join(change.what[:2]) or change.aspect}" if change else ""


def _cost(weight: Weight, rates: Throughput) -> str:
    change: Change | None = weight.cheapest
    if change is None:
        return "not known"
    hours = (change.operations or 0) / rates.training / 3600
    return f"{hours:.3g} {rates.unit} h: {change.choice} on {change.cell.id}"
