"""The readings of a cell: those of its recipe, and notes on the cell."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, groupby

from repro.errors import ReproError
from repro.graph import Node, canonical, grouped, walk
from repro.manifest.cells import Cell, ShownExhibit, cells_of, every_cell, exhibits
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.recipe.request import Choices, Runs
from repro.running import measurement, recipe_calls, requirements
from repro.running.scale import scale

PARTS = ("pre-training", "fine-tuning", "retrieval", "scoring", "nothing here")
PART_OF = {"pretrain": "pre-training", "finetune": "fine-tuning", "scoring": "scoring"}
KINDS = ("conflict", "misprint", "data", "silence", "stated")


@dataclass(frozen=True)
class RecipeGraphs:
    """The stages that a recipe returns for one dataset, and the readings that it used."""

    runs: tuple[Node, ...]
    choices: Choices
    rewritten: Callable[[Node], Node]

    @cached_property
    def readings(self) -> dict[str, Reading]:
        return {k: self.choices.readings[k] for k in self.choices.used}

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {n.fingerprint: n for n in walk(map(self.rewritten, self.runs))}

    def scored(self, measure: str | None) -> str:
        """Return the scoring settings for a measure as JSON."""
        return canonical([self.choices.measured_as.get(measure or "", measure), self.choices.scoring])

    def work(self, measure: str | None) -> set[tuple[str, str]]:
        """Return (fingerprint, stage) of every node, and (``scored(measure)``, "scoring")."""
        nodes = {(fingerprint, node.stage) for fingerprint, node in self.nodes.items()}
        return nodes | {(self.scored(measure), "scoring")}


@dataclass
class CellReadings:
    """The readings of cells. Each recipe is called once with original data."""

    machine: requirements.Machine = field(default_factory=requirements.Machine)
    _calls: dict[tuple, RecipeGraphs] = field(default_factory=dict)

    def __post_init__(self):
        self._full = scale("full").rewriter()

    def of(self, cell: Cell | ShownExhibit) -> dict[str, Reading]:
        """Return the readings that a cell's recipe uses, and those that name the cell or its row."""
        recipe_readings = self._recipe_readings(cell, {})
        places = set(accumulate(cell.id.split("/"), "{}/{}".format))
        return {
            k: r
            for k, r in (cell.paper.readings | recipe_readings).items()
            if k in recipe_readings or not places.isdisjoint(r.cells)
        }

    def under_other_choices(self, cell: Cell | ShownExhibit) -> dict[str, Reading]:
        """Return the readings that a recipe uses only if another reading departs from its default."""
        default_readings = self._recipe_readings(cell, {})
        other_readings: dict[str, Reading] = {}
        for reading in default_readings.values():
            for choice in reading.choices:
                other_readings |= self._recipe_readings(cell, {reading.id: choice})
        return {k: r for k, r in other_readings.items() if k not in default_readings}

    def weighed(self, cell: Cell) -> list[tuple[Reading, str]]:
        """Return each reading of a cell with the first part that it changes, e.g. "fine-tuning"."""
        parts = [(reading, self._first_changed(cell, reading)) for reading in self.of(cell).values()]
        return sorted(parts, key=lambda pair: (PARTS.index(pair[1]), KINDS.index(pair[0].kind)))

    def _first_changed(self, cell: Cell, reading: Reading) -> str:
        default, changed_stages = self._work(cell, {}), set()
        for choice in reading.choices if default else ():
            if reading.id in self._recipe_readings(cell, {}):
                changed_stages |= {stage for _, stage in self._work(cell, {reading.id: choice}) ^ default}
        changed_parts = {PART_OF.get(stage, "retrieval") for stage in changed_stages}
        return next((part for part in PARTS if part in changed_parts), PARTS[-1])

    def _work(self, cell: Cell, overrides: Mapping[str, str]) -> set[tuple[str, str]]:
        graphs = self.made(cell, overrides)
        return graphs.work(cell.column.measure) if graphs else set()

    def made(self, cell: Cell | ShownExhibit, overrides: Mapping[str, str]) -> RecipeGraphs | None:
        """Return a recipe's graphs for the first dataset, or None. Ignores ``overrides`` that it refuses."""
        measured_cell, identifier = next(_datasets(cell), (None, ""))
        if measured_cell is None:
            return None
        try:
            return self._call(measured_cell, identifier, overrides)
        except ReproError:
            return self.made(cell, {}) if overrides else None

    def nodes(self, cell: Cell) -> list[Node]:
        """Return all stages of a cell at scale full with default choices."""
        nodes: list[Node] = []
        for measured_cell, identifier in _datasets(cell):
            call = self._call(measured_cell, identifier, {})
            nodes += call.nodes.values()
            if isinstance(measured_cell, Cell) and measured_cell.column.kind not in measurement.COMPUTED:
                entry, measure = dataset(identifier), measured_cell.column.measure or ""
                nodes += [
                    measurement.shared_evaluation(
                        run, entry, measure, call.choices.scoring, machine=self.machine
                    )
                    for run in call.runs
                ]
        return list({n.fingerprint: n for n in nodes}.values())

    def places(self, source: Paper) -> dict[str, list[str]]:
        """Return reading -> rows that depend on it, or single cells of a row."""
        of_recipes: dict[str, list[str]] = {}
        for place, cells in _rows(source):
            by_reading = grouped((id, cell.id) for cell in cells for id in self._recipe_readings(cell, {}))
            for identifier, ids in by_reading.items():
                of_recipes.setdefault(identifier, []).extend([place] if len(ids) == len(cells) else ids)
        places: dict[str, list[str]] = {}
        for key, reading in source.readings.items():
            named_cells = [cell for cell in reading.cells if cell.startswith(f"{source.name}/")]
            if named_cells or key in of_recipes or key not in source.shared_readings:
                places[key] = [*of_recipes.get(key, ()), *named_cells]
        return places

    def _recipe_readings(self, cell: Cell | ShownExhibit, overrides: Mapping[str, str]) -> dict[str, Reading]:
        readings: dict[str, Reading] = {}
        for measured_cell, identifier in _datasets(cell):
            readings |= self._call(measured_cell, identifier, overrides).readings
        return readings

    def _call(self, cell: Cell | ShownExhibit, identifier: str, overrides: Mapping[str, str]) -> RecipeGraphs:
        path = recipe_calls.recipe_path(cell)
        key = path, cell.paper.name, identifier, repr(cell.options), *sorted(overrides.items())
        if key not in self._calls:
            machine = self.machine
            result, choices = recipe_calls.call_recipe(
                cell, identifier, overrides, machine=machine, originals_only=True
            )
            runs = result.all if isinstance(result, Runs) else (result,)
            self._calls[key] = RecipeGraphs(runs, choices, lambda node: self._full(machine.shared(node)))
        return self._calls[key]


def _rows(source: Paper) -> Iterator[tuple[str, list[Cell] | list[ShownExhibit]]]:
    for row, row_cells in groupby(every_cell(source), key=lambda c: c.row_path):
        yield row, list(row_cells)
    for exhibit in exhibits((source.name,)):
        yield exhibit.id, [exhibit]


def _datasets(cell: Cell | ShownExhibit) -> Iterator[tuple[Cell | ShownExhibit, str]]:
    if isinstance(cell, ShownExhibit):
        yield cell, cell.exhibit.dataset or ""
    elif cell.recipe and cell.column.dataset:
        for member in dataset(cell.column.dataset).members or (cell.column.dataset,):
            yield cell, member
    else:
        for part in cells_of(cell.paper, (cell.table,)):
            if part.row.id == cell.row.id and part.column.id in cell.column.mean_of:
                yield from _datasets(part)
