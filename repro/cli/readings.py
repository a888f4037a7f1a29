"""The view ``repro show readings``, e.g. of ``PAPER --table 1``."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from repro import errors, graph, hooks, locations
from repro.cli.printing import table
from repro.manifest.cells import cell, cells_of, exhibits, table_of
from repro.manifest.papers import Paper, papers, sources
from repro.manifest.reading_schema import Reading
from repro.running import cell_readings, requirements, workspace


def selected(names, cells, tables, kind) -> "Iterator[ShownReadings]":
    """Yield the readings of each named paper (default: all) or paper of ``cells``, of a ``kind`` or all."""
    known = cell_readings.CellReadings(requirements.Machine(locations.Locations.resolve().data))
    for source, members in groupby(map(cell, cells), key=attrgetter("paper")):
        rests: dict[str, list[str]] = graph.grouped((id, c.id) for c in members for id in known.of(c))
        yield ShownReadings.of(source, rests, kind)
    for source in () if cells else sources(names):
        behind = _readings_of_tables(source, tables, known) if tables else None
        rests = {id: places for id, places in known.places(source).items() if behind is None or id in behind}
        yield ShownReadings.of(source, rests, kind)


def _readings_of_tables(source: Paper, tables, known: cell_readings.CellReadings) -> set[str]:
    of_cells = map(known.of, cells_of(source, tuple(table_of(source, t) for t in tables)))
    return set().union(*of_cells, *map(known.of, exhibits((source.name,), tables)))


@dataclass(frozen=True)
class ShownReadings:
    """Readings of a paper. ``places`` maps their ids to the rows or cells that depend on them."""

    source: Paper
    places: dict[str, list[str]]
    readings: Sequence[Reading]

    @classmethod
    def of(cls, source: Paper, places: dict[str, list[str]], kind: str | None) -> "ShownReadings":
        """Return the readings of a ``kind`` (or all), the most used first, those without a choice last."""
        known = {id: reading for other in papers().values() for id, reading in other.readings.items()}
        readings = [(known | dict(source.readings))[id] for id in places]
        readings = [reading for reading in readings if kind in (None, reading.kind)]
        return cls(source, places, sorted(readings, key=lambda r: (len(r.choices) < 2, -len(places[r.id]))))

    def as_json(self) -> Iterator[dict]:
        answers = self._answers()
        for reading in self.readings:
            facts = reading.model_dump(mode="json", exclude={"cells"})
            study = answers_as_json(answers, reading.study)
            yield {"of": self.source.name, **facts, "affects": self.places[reading.id], "study": study}

    def show(self, *, citations: bool) -> None:
        """Print a line per reading and results of studies, or the ``citations`` alone."""
        if citations:
            return self._show_citations()
        head = ["id", "kind", "where", "open question", "choices", "used by"]
        title = f"{self.source.name}: {len(self.readings)} readings (default in brackets)"
        table(title, head, [self._line(r) for r in self.readings])
        pointers = [(r.id, r.study) for r in self.readings]
        print_answers(self._answers(), self.source.name, "reading", pointers)

    def _line(self, r: Reading) -> list[str]:
        choices = (f"[{choice}]" if choice == r.default else choice for choice in r.choices)
        return [r.id, r.kind, r.where, r.paper, " | ".join(choices), errors.first_of(self.places[r.id], 1)]

    def _answers(self) -> hooks.Answers:
        pointers = [text for reading in self.readings for text in reading.study]
        return (hooks.call("study answers", pointers, workspace.Workspace.open()) if pointers else None) or {}

    def _show_citations(self) -> None:
        lines = [
            [r.id, r.default, c.who, c.says, " | ".join(c.choices), c.place]
            for r in self.readings
            for c in r.citations
        ]
        head = ["id", "default", "who", "says", "supports", "place"]
        table(f"{self.source.name}: {len(lines)} citations from outside the paper", head, lines)


def answers_as_json(answers: hooks.Answers, pointers: Iterable[str]) -> list[dict]:
    return [{"comparison": text, "measured": answers[text].measured} for text in pointers if text in answers]


def print_answers(
    answers: hooks.Answers, paper: str, kind: str, pointing: Iterable[tuple[str, Sequence[str]]]
) -> None:
    """Print a table of differences measured in studies. ``pointing`` maps ids to pointers to comparisons."""
    lines = [[id, p, answers[p].words] for id, pointers in pointing for p in pointers if p in answers]
    if lines:
        title = f"{paper}: differences in a controlled study at small scale, not comparable with the paper"
        table(title, [kind, "comparison", "difference"], lines, multiline=True)
