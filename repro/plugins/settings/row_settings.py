"""The settings of a row, or of a cell that publishes one, as views of `repro show` print them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from repro.manifest.cells import Cell, cells_of, select
from repro.manifest.papers import paper
from repro.plugins.settings.checked import of_cell, of_tables
from repro.plugins.settings.parameter import (
    CELL_HEAD,
    HEAD,
    CheckedParameter,
    by_step,
    counts,
    in_words,
    merged_lines,
    of_cells_of_settings,
)
from repro.plugins.settings.released_code import certificates, in_short
from repro.running.cell_readings import CellReadings
from repro.verdicts.beside import CellPart


def planned_for(item: CheckedParameter) -> str:
    """The planned value of a parameter, its place in the step, and the verdict."""
    place = " of ".join(filter(None, (item.parameter, item.step)))
    return f"{in_words(item.planned) or 'nothing'} ({place}); {item.verdict}"


def print_steps(items: Iterable[CheckedParameter]) -> None:
    """Print a table for every step of a paper."""
    from repro.cli.printing import table

    for heading, parameters in by_step(items).items():
        paper = parameters[0].row.partition("/")[0]
        table(f"{paper}: {heading}", HEAD, merged_lines(parameters), drop=(2, 1))


def print_cells(items: Iterable[CheckedParameter]) -> None:
    """Print a table of the cells of the papers' own tables of settings."""
    from repro.cli.printing import table

    if lines := of_cells_of_settings(items):
        table("cells of tables of settings", CELL_HEAD, lines)


def row_lines(items: Sequence[CheckedParameter], *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Labels with what is said of a row: how many settings are as stated, then those that depart, or all."""
    if not items:
        return
    paper, table, row = items[0].row.split("/")
    command = f"`repro show settings {paper} --table {table} --row {row}` tells all"
    yield "settings", f"of the row at full: {counts(items)}; {command}"
    steps = by_step(item for item in items if verbose or item.fails or item.state == "departs")
    lines = {heading: "; ".join(dict.fromkeys(map(_short_line, group))) for heading, group in steps.items()}
    if verbose:
        yield from ((f"  {heading}", line) for heading, line in lines.items())
    elif lines:
        yield "  apart", ". ".join(f"{heading}: {line}" for heading, line in lines.items())


def _short_line(item: CheckedParameter) -> str:
    stated_values = [in_words(value) for value in (item.published, item.released) if value is not None]
    planned_values = [in_words(item.planned)] if in_words(item.planned) not in stated_values else []
    return f"{item.parameter} {' → '.join([*dict.fromkeys(stated_values), *planned_values])} ({item.verdict})"


def of_whole_papers(cells: Sequence[Cell]) -> Iterator[str]:
    """A sentence on the tables of settings of each paper of which every measured cell is among ``cells``."""
    numbers = Counter(cell.paper.name for cell in cells)
    for name, number in numbers.items():
        source = paper(name)
        if any(c.is_setting for c in cells_of(source)) and number == len(
            select((name,), tables=(), rows=(), cells=())
        ):
            settings = of_tables(source).values()
            total = f"{len(settings)} settings in tables: {counts(settings)}"
            yield f"{name} publishes {total} (`repro show settings {name}`)"


class SettingsOfCell(CellPart):
    """What is said of the settings of a cell, or of its row, and of the code that was released."""

    def __init__(self, cell: Cell, known: CellReadings):
        self._cell, self._settings = cell, of_cell(cell)
        self._certified = certificates(known.nodes(cell))

    @property
    def facts(self) -> dict:
        """Return every planned parameter, and every part of the work that was held against released code."""
        settings = [item.as_json() for item in self._settings]
        return {"settings": settings, "released_code": [item.as_json() for item in self._certified]}

    def below_published(self) -> Iterator[tuple[str, str]]:
        """Yield what is planned where the cell publishes a setting."""
        planned = (planned_for(item) for item in self._settings if item.cell == self._cell.id)
        yield from (("planned", line) for line in dict.fromkeys(planned))

    def at_end(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        """Yield what was held against released code, then the settings of the row."""
        sentences = (f"{item.part}: {item.says}" for item in self._certified)
        yield from (
            ("released code:", line) for line in (sentences if verbose else in_short(self._certified))
        )
        items = [] if self._cell.is_setting else self._settings
        for name, value in row_lines(items, verbose=verbose):
            yield (f"{name}:" if name == "settings" else name), value
