"""Options that several verbs share, and what they select."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import click

from repro.errors import UsageError
from repro.manifest.cells import Cell, Shown, exhibits, figure_of, select
from repro.manifest.papers import paper, papers
from repro.running.plan import Plan, plan
from repro.running.scale import scale, scales
from repro.running.workspace import Workspace

Names = tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """The cells and exhibits that a command line selected, with the workspace to work in."""

    cells: list[Cell]
    exhibits: list[Shown]
    scale: str
    seeds: tuple[int, ...]
    readings: dict[str, str]
    workspace: Workspace

    def plan(self) -> Plan:
        """The selection's plan; makes no store. Raises what ``repro.running.plan.plan`` raises."""
        return plan(
            self.cells,
            scale=scale(self.scale),
            machine=self.workspace.machine,
            seeds=self.seeds,
            overrides=self.readings,
            exhibits=self.exhibits,
        )


def _papers(ctx, param, incomplete):
    return [name for name in papers() if name.startswith(incomplete)]


def _scales(ctx, param, incomplete):
    return [name for name in scales() if name.startswith(incomplete)]


_OPTIONS = [
    click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=_papers),
    click.option("--table", "tables", multiple=True, metavar="N", help="Only this table; may be repeated."),
    click.option(
        "--row", "rows", multiple=True, metavar="ROW", help="Only this row, or a system in every group."
    ),
    click.option(
        "--cell", "cells", multiple=True, metavar="ID", help="Only this cell, paper/table/row/column."
    ),
    click.option("--figure", "figures", multiple=True, metavar="N", help="Only this figure."),
    click.option("--all", "everything", is_flag=True, help="Everything (of the named papers, or of all)."),
    click.option(
        "--scale",
        "scale_name",
        default="full",
        show_default=True,
        shell_complete=_scales,
        help="full is the paper; small and tiny cost less and are never compared with the published numbers.",
    ),
    click.option("--seeds", metavar="1,2,3", help="Fine-tuning seeds instead of the paper's own."),
    click.option(
        "--reading", "readings", multiple=True, metavar="ID=CHOICE", help="Another choice of a reading."
    ),
    click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE)."),
    click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS)."),
]


def selecting(function: Callable) -> Callable:
    """Give a command the selection options; it is called with a ``Selection`` first."""

    @functools.wraps(function)
    def wrapped(
        names, tables, rows, cells, figures, everything, scale_name, seeds, readings, store, results, **others
    ):
        scale(scale_name)
        for figure in figures:
            _refuse_figure(names, figure)
        owners = (*tables, *(f"figure-{figure}" for figure in figures))
        if (owners or rows) and not (names or everything):
            raise UsageError(f"--table, --figure and --row need a paper ({', '.join(papers())}), or --all")
        if not (names or cells or everything):
            raise UsageError(f"name a paper ({', '.join(papers())}), a --cell, or --all")
        shown = [] if rows or cells else exhibits(names, owners)
        chosen = Selection(
            cells=_cells(names, owners, rows, cells, shown),
            exhibits=shown,
            scale=scale_name,
            seeds=_seeds(seeds),
            readings=_readings(readings),
            workspace=Workspace.open(store, results),
        )
        return function(chosen, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _cells(names: Names, owners: Names, rows: Names, cells: Names, shown: list[Shown]) -> list[Cell]:
    """The selected cells; a table or figure that only shows things has none."""
    places = {s.owner for s in shown}
    with_cells = tuple(owner for owner in owners if owner not in places)
    if owners and not with_cells and not cells:
        return []
    return select(names, tables=with_cells, rows=rows, cells=cells)


def _refuse_figure(names: tuple[str, ...], figure: str) -> None:
    for name in names or papers():
        if not figure_of(paper(name), figure).is_measured:
            described = f"`repro show {name} --figure {figure}` describes it"
            raise UsageError(f"figure {figure} of {name} has no recipe yet; {described}")


def _seeds(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < 2**32 for part in parts):  # what numpy takes
        raise UsageError(f"--seeds takes whole numbers below 2**32 separated by commas, not {text!r}")
    return tuple(dict.fromkeys(map(int, parts)))


def _readings(pairs: tuple[str, ...]) -> dict[str, str]:
    choices = {}
    for pair in pairs:
        identifier, equals, choice = pair.partition("=")
        if not equals:
            raise UsageError(f"--reading takes ID=CHOICE, not {pair!r}; `repro readings PAPER` lists both")
        if choices.setdefault(identifier.strip(), choice.strip()) != choice.strip():
            twice = f"--reading gives {identifier.strip()!r} two choices"
            raise UsageError(f"{twice}; run the command once for each")
    return choices
