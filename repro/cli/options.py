"""Options that several verbs share, and what they select."""

import functools
from collections.abc import Callable

import click

from repro.api.selection import select
from repro.cli import completion
from repro.errors import UsageError
from repro.manifest.cells import cell
from repro.manifest.papers import papers
from repro.running.workspace import Workspace


def _several(flag: str, metavar: str, complete: Callable, told: str) -> Callable:
    """An option that may be given several times, collected under the plural of its name."""
    names = (f"--{flag}", f"{flag}s")
    return click.option(*names, multiple=True, metavar=metavar, shell_complete=complete, help=told)


_OPTIONS = [
    click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names),
    _several("table", "N", completion.tables, "Only this table; may be repeated."),
    _several("row", "ROW", completion.rows, "Only this row, or a system in every group."),
    _several("cell", "ID", completion.cells, "Only this cell, paper/table/row/column."),
    _several("figure", "N", completion.figures, "Only this figure."),
    click.option("--all", "everything", is_flag=True, help="Everything (of the named papers, or of all)."),
    click.option(
        "--scale",
        "scale_name",
        default="full",
        show_default=True,
        shell_complete=completion.scale_names,
        help="full is the paper; small and tiny cost less and are never compared with the published numbers.",
    ),
    click.option("--seeds", metavar="1,2,3", help="Fine-tuning seeds instead of the paper's own."),
    click.option(
        "--reading",
        "readings",
        multiple=True,
        metavar="ID=CHOICE",
        shell_complete=completion.readings,
        help="Another choice of a reading.",
    ),
    click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE)."),
    click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS)."),
]


def selecting_everything(function: Callable) -> Callable:
    """Give a command the selection options, which without a paper or cell select from everything."""
    return selecting(function, by_default_all=True)


def selecting(function: Callable, *, by_default_all: bool = False) -> Callable:
    """Give a command the selection options; it is called with a ``Selection`` first."""

    @functools.wraps(function)
    def wrapped(
        names, tables, rows, cells, figures, everything, scale_name, seeds, readings, store, results, **others
    ):
        everything = everything or (by_default_all and not cells)
        if (tables or figures or rows) and not (names or everything):
            raise UsageError(f"--table, --figure and --row need a paper ({', '.join(papers())}), or --all")
        if not (names or cells or everything):
            raise UsageError(f"name a paper ({', '.join(papers())}), a --cell, or --all")
        alone = cells and not (tables or figures or rows)  # a paper named beside a cell adds nothing
        chosen = select(
            *(() if alone else names),
            *(cell(identifier).id for identifier in cells),
            tables=tables,
            figures=figures,
            rows=rows,
            scale=scale_name,
            seeds=_seeds(seeds),
            readings=reading_choices(readings),
            workspace=Workspace.open(store, results),
        )
        return function(chosen, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def selecting_words(ctx: click.Context) -> tuple[str, ...]:
    """The papers and options of a command line that select cells, to be typed again at another scale."""
    named = [word for option in ("table", "figure", "row", "cell", "reading") for word in _named(ctx, option)]
    return (*ctx.params["names"], *named, *(["--all"] if ctx.params["everything"] else []))


def _named(ctx: click.Context, option: str) -> list[str]:
    return [word for value in ctx.params[f"{option}s"] for word in (f"--{option}", value)]


def _seeds(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < 2**32 for part in parts):  # what numpy takes
        raise UsageError(f"--seeds takes whole numbers below 2**32 separated by commas, not {text!r}")
    return tuple(dict.fromkeys(map(int, parts)))


def reading_choices(pairs: tuple[str, ...]) -> dict[str, str]:
    """The choices of ``--reading ID=CHOICE``, each reading once. Raises UsageError for another form."""
    choices = {}
    for pair in pairs:
        identifier, equals, choice = pair.partition("=")
        if not equals:
            raise UsageError(f"--reading takes ID=CHOICE, not {pair!r}; `repro readings PAPER` lists both")
        if choices.setdefault(identifier.strip(), choice.strip()) != choice.strip():
            twice = f"--reading gives {identifier.strip()!r} two choices"
            raise UsageError(f"{twice}; run the command once for each")
    return choices
