"""The page of one cell, e.g. ``repro show PAPER/1/ROW/COLUMN``."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from shlex import quote

from repro.cli.plan_summary import names_in_a_line
from repro.cli.printing import say, width
from repro.errors import visible
from repro.exchange.public_runs import PublicRun, cells_of_run, only_scorable, public_runs
from repro.hooks import CellNote, CellPart, ask
from repro.manifest.cells import Cell, is_measured
from repro.manifest.papers import home
from repro.manifest.reading_schema import Reading
from repro.retrieval.datasets.catalog import dataset
from repro.running import cell_readings, recipe_calls, requirements
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store.results import Results
from repro.verdicts.compared import ComparedCell
from repro.writers import grid

IN_FULL = 4  # readings per part, and values, printed in full


@dataclass(frozen=True)
class CellPage:
    """The facts about a cell, also for plugins.

    Attributes:
        stands: the judged cell at scale full and at each scale with a record of it.
        readings: pairs of a reading and the first part that it changes, e.g. "fine-tuning".
        more: readings that are used only if another reading departs from its default.
        public_runs: public runs by others that can be scored for the cell.
    """

    cell: Cell
    stands: list[ComparedCell]
    readings: list[tuple[Reading, str]]
    more: list[Reading]
    public_runs: list[PublicRun]
    results: Results

    @classmethod
    def of(cls, cell: Cell, workspace: Workspace) -> "CellPage":
        from repro.verdicts.comparison import standings

        known = cell_readings.CellReadings(workspace.machine)
        stands = standings(cell, workspace) if is_measured(cell) else []
        more = list(known.under_other_choices(cell).values())
        runs = [run for run in public_runs() if cell in cells_of_run(run, only_scorable([cell]))[0]]
        return cls(cell, stands, known.weighed(cell), more, runs, workspace.results)

    @cached_property
    def parts(self) -> list[CellPart]:
        return ask().part_of_cell(cell=self.cell, page=self)

    @cached_property
    def notes(self) -> list[CellNote]:
        return [note for part in self.parts for note in part.notes]

    @property
    def commands(self) -> dict[str, str]:
        """Label, e.g. "measure it" -> command. The order is reversed if full scale is blocked."""
        cell, commands = self.cell, {}
        if self.stands and (cell.recipe or cell.column.mean_of):
            commands["measure it"] = f"repro run {cell.id}"
            if not recipe_calls.not_at(cell, scale("tiny")):
                commands["try it"] = f"repro run {cell.id} --scale tiny"
        if self.public_runs:
            commands["score a run"] = "repro import run --public DIR"
        elif cell in only_scorable([cell]):
            commands["score a run"] = f"repro import run FILE {cell.id}{self._source_of_a_run}"
        for part in self.parts:
            commands |= part.commands()
        is_blocked = any((s.scale, s.verdict.name) == ("full", "blocked") for s in self.stands)
        return dict(reversed(commands.items())) if is_blocked else commands

    @property
    def _source_of_a_run(self) -> str:
        sources = filter(None, (part.source_of_a_run for part in self.parts))
        return next((f" --source {quote(source)}" for source in sources), "")

    def as_json(self) -> dict:
        from repro.verdicts.plain_values import cell_as_json

        facts = self.cell.as_json() | {
            "options": self.cell.options,
            "standings": [cell_as_json(stand) for stand in self.stands],
            "commands": list(self.commands.values()),
            "public_runs": [run.file for run in self.public_runs],
            "readings": [reading.id for reading, _ in self.readings],
            "changes": {reading.id: part for reading, part in self.readings},
            "readings_under_other_choices": [reading.id for reading in self.more],
        }
        for part in self.parts:
            facts |= part.facts
        facts |= {"others": [note.as_json() for note in self.notes], "note": self._note}
        if self.cell.column.dataset:
            entry = dataset(self.cell.column.dataset)
            rule = "ignored" if entry.ignore_identical_ids else "kept"
            facts |= {"judged": entry.judgements, "identical_ids": rule}
        return facts

    @property
    def _note(self) -> str:
        return self.cell.row.note or self.cell.column.note

    def show(self, *, verbose: bool) -> None:
        for name, value in self._lines(verbose):
            if value:
                _print(f"{name}:", value)
        for name, value in (line for part in self.parts for line in part.at_end(verbose=verbose)):
            _print(name, value)
        self._show_readings(None if verbose else IN_FULL)

    def _lines(self, verbose: bool) -> Iterator[tuple[str, str]]:
        cell = self.cell
        yield "id", cell.id
        yield "system", grid.label_in_full(cell.table, cell.row)
        yield "column", f"{', '.join(cell.column.head)}{_definition(cell)}"
        yield "published", f"{cell.printed.plain}{cell.printed.marks}{_unit_and_role(cell)}"
        yield from (line for part in self.parts for line in part.below_published())
        for stand in self.stands:
            yield from _standing_lines(stand)
        yield from (line for part in self.parts for line in part.below_measured())
        yield from _note_lines(self.notes, cell, verbose=verbose)
        for label, command in self.commands.items():
            yield label, command
            if label == "score a run":
                yield from (("public run", f"{run.file} ({run.described})") for run in self.public_runs)
        yield "recipe", _recipe_call(cell)
        yield "note", self._note

    def _show_readings(self, most: int | None) -> None:
        parts = {part: [r for r, _ in pairs] for part, pairs in groupby(self.readings, itemgetter(1))}
        notes = parts.pop(cell_readings.PARTS[-1], [])
        number = sum(map(len, parts.values()))
        if number:
            readings = f"{number} reading{'s' * (number > 1)}{_recipe_owner(self.cell)}"
            print(f"\nthe number depends on {readings}, the most important first")
        gap, brief = "", most and 0
        for part, group in parts.items():
            _print_readings(f"{gap}from {part} on", group, most)
            gap = "\n"
        if self.more:
            _print_readings("\nif one of them is changed, the number also depends on", self.more, brief)
        if notes:
            _print_readings("\nabout this cell, without effect on the number", notes, brief)
        if most:
            print()
            say("--verbose describes each. `repro run … --reading ID=CHOICE` takes another choice.")


def _recipe_owner(cell: Cell) -> str:
    owner = home(recipe_calls.recipe_path(cell)) if cell.recipe else None
    return f" of {owner.name}, which has the recipe" if owner not in (None, cell.paper) else ""


def _recipe_call(cell: Cell) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in cell.options.items())
    return f"{cell.recipe}({options})" if cell.recipe else ""


def _unit_and_role(cell: Cell) -> str:
    bold = ", bold" if cell.table.bold != "unknown" and cell.printed.bold else ""
    return f" ({cell.unit}{bold}; {grid.ROLES[cell.role]})" if not cell.is_setting else ""


def _definition(cell: Cell) -> str:
    if cell.column.mean_of:
        return f" (mean of {len(cell.column.mean_of)} columns)"
    return f" ({cell.column.measure} on {cell.column.dataset})" if cell.column.measure else ""


def _standing_lines(stand: ComparedCell) -> Iterator[tuple[str, str]]:
    yield stand.scale, _result_in_words(stand)
    if stand.data_without_digest:
        yield "data", f"without a known digest: {', '.join(stand.data_without_digest)}"
    if stand.libraries_not_compared:
        yield "libraries", f"versions not compared: {', '.join(stand.libraries_not_compared)}"
    for run in stand.imported:
        doubts = "; ".join(map(str, run.doubts))
        score = f"({run.measured:.4g})" if doubts else f"{run.measured:.4g}"
        yield "run by others", f"{score} ({run.maker}), {run.verdict.name}{doubts and f'; {doubts}'}"


def _result_in_words(stand: ComparedCell) -> str:
    verdict = f"{stand.verdict.name}: {stand.verdict.why}"
    if stand.measured is None:
        lacking = names_in_a_line(requirements.NodeObstacles(stand.obstacles).names)
        return f"{stand.verdict.name}: lacks {lacking}" if lacking else verdict
    first = stand.records[0]
    seeds = f"mean of {len(stand.records)} seeds, " if len(stand.records) > 1 else ""
    basis = f"{seeds}{first.queries} queries of {', '.join(stand.measured_on)}, {first.recorded[:10]}"
    basis += f", only the first {stand.cut_at} documents per query" if stand.cut_at else ""
    return f"{grid.shown_measurement(stand)} ({basis}); {verdict}"


def _note_lines(notes: Sequence[CellNote], cell: Cell, *, verbose: bool) -> Iterator[tuple[str, str]]:
    if len(notes) == 1:
        yield grid.STATED, f"1 value, {notes[0]}"
    elif notes:
        shown = notes if verbose else notes[:IN_FULL]
        yield grid.STATED, f"{len(notes)} values, {grid.span(notes, cell)}, the closest in kind first"
        yield from (("value", str(note)) for note in shown)
        if len(notes) > len(shown):
            yield "values", f"{len(notes) - len(shown)} more with --verbose"


def _print_readings(heading: str, readings: Sequence[Reading], most: int | None) -> None:
    detailed, brief = (readings, []) if most is None else (readings[:most], readings[most:])
    print(heading)
    for reading in detailed:
        choices = (f"[{choice}]" if choice == reading.default else choice for choice in reading.choices)
        _print(f"  {reading.id}", f"{reading.paper} ({reading.kind}; {reading.where}): {' | '.join(choices)}")
    if brief:
        _print("  and" if detailed else "", ", ".join(reading.id for reading in brief))


def _print(label: str, value: str) -> None:
    from repro.writers.sheet import UNLIMITED

    label, indent = f"{visible(label):14} ", " " * 15
    if len(label) > 15 and width() < UNLIMITED:
        print(label.rstrip())
        label = indent
    wrapper = textwrap.TextWrapper(max(width(), 40), label, indent)
    wrapper.break_on_hyphens = wrapper.break_long_words = False
    print(wrapper.fill(visible(value)))
