"""The settings in reports and in ``repro show CELL``, and ``repro show settings``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from repro import errors, hooks
from repro.cli.options import PAPERS, ROW, TABLE, json_option
from repro.graph import grouped
from repro.manifest.cells import Cell, cells_of, select
from repro.manifest.papers import paper
from repro.plugins.settings import checked, schema
from repro.plugins.settings.checked import CELL_HEAD, HEAD, CheckedParameter, counts, in_words

if TYPE_CHECKING:
    from repro.running.requirements import Machine
    from repro.verdicts.compared import ComparedCell
    from repro.writers.html.elements import Content, Markup
    from repro.writers.html.sections import Part, Sources


def row_lines(items: Sequence[CheckedParameter], *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield (name, text) on a row: counts by state, then its departures, or all settings if ``verbose``."""
    if not items:
        return
    paper, table, row = items[0].row.split("/")
    command = f"`repro show settings {paper} --table {table} --row {row}`"
    yield "settings", f"of the row at scale full: {counts(items)} ({command})"
    steps = checked.by_step(item for item in items if verbose or item.fails or item.state == "departs")
    lines = {heading: "; ".join(dict.fromkeys(map(_short_line, group))) for heading, group in steps.items()}
    if verbose:
        yield from ((f"  {heading}", line) for heading, line in lines.items())
    elif lines:
        yield "  departures", ". ".join(map(": ".join, lines.items()))


def _short_line(item: CheckedParameter) -> str:
    stated_values = [in_words(value) for value in (item.published, item.released) if value is not None]
    planned_values = [in_words(item.planned)] if in_words(item.planned) not in stated_values else []
    return f"{item.parameter} {' → '.join([*dict.fromkeys(stated_values), *planned_values])} ({item.verdict})"


def of_whole_papers(cells: Sequence[Cell], machine: Machine) -> Iterator[str]:
    numbers = Counter(cell.paper.name for cell in cells)
    for name, number in numbers.items():
        source = paper(name)
        if any(c.is_setting for c in cells_of(source)) and number == len(select((name,))):
            of_paper = checked.of_cells(checked.checked_parameters(source, machine)).values()
            total = f"{len(of_paper)} settings in tables: {counts(of_paper)}"
            yield f"{name} publishes {total} (`repro show settings {name}`)"


class SettingsOfCell(hooks.CellPart):
    def __init__(self, cell: Cell, page: object = None):
        self._cell, self._settings = cell, checked.of_cell(cell)
        self.facts = {"settings": [item.as_json() for item in self._settings]}

    def below_published(self) -> Iterator[tuple[str, str]]:
        lines: dict[str, None] = {}
        for item in (item for item in self._settings if item.cell == self._cell.id):
            place = " of ".join(filter(None, (item.parameter, item.step)))
            lines[f"{in_words(item.planned) or 'nothing'} ({place}), {item.verdict}"] = None
        yield from (("planned", line) for line in lines)

    def at_end(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        items = [] if self._cell.is_setting else self._settings
        for name, value in row_lines(items, verbose=verbose):
            yield (f"{name}:" if name == "settings" else name), value


@click.command(
    "settings",
    epilog="\b\nExamples:\n  repro show settings PAPER\n  repro show settings PAPER --table 1 --row SYSTEM\n"
    "  repro show settings PAPER --failing --strict",
)
@PAPERS
@TABLE
@ROW
@click.option("--failing", is_flag=True, help="List only failing settings.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if a setting fails.")
@json_option
def command(names, tables, rows, failing, strict, as_json):
    """Compare the planned settings at scale full with those of the paper and its released code.

    A planned parameter passes if it is as published or as released, or if an unspecified choice explains it.
    Each cell of a table of settings has a verdict.
    """
    from repro.cli.printing import emit_json, say

    is_selected = partial(_lies_in, tables=tables, rows=rows)
    parameters = _selected_parameters(names, tables, rows)
    failures = [item for item in parameters if item.fails]
    shown_parameters = failures if failing else parameters
    if as_json:
        emit_json([item.as_json() for item in shown_parameters])
    else:
        _print_tables(shown_parameters, is_selected)
        say(counts(parameters))
    return int(strict and bool(failures))


def _selected_parameters(names, tables, rows) -> list:
    parameters = list(checked.settings(*names))
    if not parameters:
        raise errors.UsageError(f"{', '.join(names)}: there is no settings.yaml to compare the plan with")
    _check_places(parameters, tables, rows)
    return [item for item in parameters if any(_lies_in(p, tables, rows) for p in (item.row, item.cell))]


def _check_places(parameters, tables, rows) -> None:
    places = [place for item in parameters for place in (item.row, item.cell) if place]
    exhibits = [table for table, _ in map(_parts, places) if table]
    numbers = (table.removeprefix("figure-") for table in exhibits)
    errors.check_known(
        "table or figure with settings", *tables, valid=dict.fromkeys(chain(exhibits, numbers))
    )
    ids = [_parts(place)[1] for place in places if _lies_in(place, tables, ())]
    systems = (row.rpartition(".")[2] for row in ids)
    errors.check_known("row with settings", *rows, valid=dict.fromkeys(filter(None, chain(ids, systems))))


def _print_tables(parameters, is_selected) -> None:
    from repro.cli.printing import table

    of_rows = (item for item in parameters if item.row != item.cell and is_selected(item.row))
    for heading, items in checked.by_step(of_rows).items():
        table(f"{items[0].row.partition('/')[0]}: {heading}", HEAD, checked.merged_lines(items))
    if lines := checked.of_cells_of_settings(item for item in parameters if is_selected(item.cell)):
        table("cells of tables of settings", CELL_HEAD, lines)


def _parts(place: str) -> tuple[str, str]:
    _, table, row, *_ = [*place.split("/"), "", ""]
    return table, row


def _lies_in(place: str, tables, rows) -> bool:
    table, row = _parts(place)
    numbers = {n.removeprefix("figure-") for n in tables}
    in_table = not tables or table.removeprefix("figure-") in numbers
    return bool(place) and in_table and (not rows or bool({row, row.rpartition(".")[2]} & set(rows)))


class SettingsPart(hooks.PaperPart):
    def __init__(self, sources: Sources):
        self._settings = {
            name: checked.checked_parameters(source, sources.machine) if schema.steps_of(source) else []
            for name, source in sources.papers.items()
        }
        self._by_row = grouped((item.row, item) for items in self._settings.values() for item in items)

    def sections(self, part: Part) -> Iterator[hooks.Section]:
        name = part.paper.name
        if items := self._settings[name]:
            yield hooks.Section("Settings", "settings", 4, settings_section(name, items))

    def card(self, c: ComparedCell, part: Part) -> Iterator[tuple[str, Content]]:
        from repro.writers.html.elements import el, identifier

        name = part.paper.name
        if text := counts(self._by_row[c.cell.row_path]):
            yield "settings", el("a", text, href=f"{part.home}#{identifier(name, 'settings')}")


def settings_section(paper: str, items: Sequence[CheckedParameter]) -> Markup:
    from repro.writers.html.elements import el, identifier, plain_table, section
    from repro.writers.html.tables import scrolling

    tables = []
    departures = (item for item in items if item.fails or item.state == "departs")
    for step, group in checked.by_step(departures).items():
        lines = plain_table(HEAD, checked.merged_lines(group))
        tables.append((el("p", step), scrolling(lines, f"settings: {step}, departures")))
    cell_rows = checked.of_cells_of_settings(items)
    cells = scrolling(plain_table(CELL_HEAD, cell_rows), "cells of tables of settings") if cell_rows else None
    return section(
        "Settings",
        el("p", f"Settings of text and released scripts, compared with the plan at full: {counts(items)}."),
        el("p", "Departures only (all: ", el("code", f"repro show settings {paper}"), ")."),
        tables,
        cells,
        place=identifier(paper, "settings"),
    )
