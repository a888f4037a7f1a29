"""Options of several verbs, e.g. the selection ``PAPER --table 1 --row ROW``."""

import functools
import importlib
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repro.api import Selection, select
from repro.errors import UsageError, check_known
from repro.machine.system import bytes_of
from repro.manifest.papers import papers
from repro.running.scale import with_scale_of
from repro.running.workspace import Workspace

FIGURE = "figure-"
NOTHING_NAMED = "name a paper ({}), a table, a cell, or --all"
OF_FILE = "repro.scale_of_file"


def _completer(name: str) -> Callable:
    return lambda *args: getattr(importlib.import_module("repro.cli.completion"), name)(*args)


def scale_option(name: str = "scale_name", **how) -> Callable:
    """Return a decorator that adds ``--scale``. For a file, e.g. mine.yaml, the command receives its name."""
    defaults: dict[str, Any] = {
        "shell_complete": _completer("scale_names"),
        "callback": _register_scale,
        "metavar": "NAME|FILE",
    }
    if "multiple" not in how:
        defaults |= {"default": "full", "show_default": True}
    return click.option("--scale", name, **defaults | how)


def _register_scale(ctx: click.Context, param: click.Parameter, value):
    if isinstance(value, tuple):
        return tuple(_register_scale(ctx, param, each) for each in value)
    if value is None or not (value.endswith((".yaml", ".yml")) or "/" in value):
        return value
    scale = ctx.with_resource(with_scale_of(Path(value).expanduser()))
    ctx.meta[OF_FILE] = scale.name, value
    return scale.name


def format_option(*others: str) -> Callable:
    """Return a decorator that adds ``--format`` as ``form``: ``terminal`` (default) or one of ``others``."""
    text = "Output format. Messages go to standard error."
    kind = click.Choice(("terminal", *others))
    return click.option("--format", "form", type=kind, default="terminal", show_default=True, help=text)


def json_option(function: Callable) -> Callable:
    """Add ``--format terminal|json`` to a command, as the boolean ``as_json``."""

    @functools.wraps(function)
    def wrapped(*args, form, **kwargs):
        return function(*args, as_json=form == "json", **kwargs)

    return format_option("json")(wrapped)


def repeatable_option(name: str, metavar: str, description: str) -> Callable:
    """Return a decorator that adds a repeatable option, e.g. ``--row``, which becomes the tuple ``rows``."""
    complete = _completer(f"{name}s")
    names = (f"--{name}", f"{name}s")
    return click.option(*names, multiple=True, metavar=metavar, shell_complete=complete, help=description)


PAPERS = click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=_completer("names"))
TABLE = repeatable_option("table", "N", "Only this table, e.g. 1 or figure-4 (repeatable).")
ROW = repeatable_option("row", "ROW", "Only this row or system, e.g. bm25neg.bert or bert (repeatable).")


ALL = click.option("--all", "everything", is_flag=True, help="All tables of the named (or all) papers.")
OPTIONS = [
    click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_completer("names")),
    TABLE,
    ROW,
    ALL,
    scale_option(help="Scale of the run, e.g. full, small, tiny or mine.yaml. Verdicts need scale full."),
    click.option("--seeds", metavar="1,2,3", help="Fine-tuning seeds instead of the paper's."),
    repeatable_option(
        "reading",
        "ID=CHOICE",
        "Another value of an unspecified choice, e.g. bm25-parameters=anserini-tuned (repeatable).",
    ),
]


def selecting_names(function: Callable, options: Iterable[Callable] = OPTIONS) -> Callable:
    """Add the selection options. The command receives their values, for ``selection_of_options``."""
    return functools.reduce(lambda command, option: option(command), reversed([*options]), function)


def selecting_everything(function: Callable) -> Callable:
    """Add the selection options. The command receives a ``Selection``, by default of everything."""
    options = [option for option in OPTIONS if option is not ALL]
    return selecting_names(_with_selection(function, by_default_all=True), options)


def selection_options(function: Callable) -> Callable:
    """Add the selection options. The command receives a ``Selection``, and the user must name its cells."""
    return selecting_names(_with_selection(function, by_default_all=False))


def _with_selection(function: Callable, *, by_default_all: bool) -> Callable:
    @functools.wraps(function)
    def wrapped(names, tables, rows, scale_name, seeds, readings, everything=False, **kwargs):
        values = names, tables, rows, everything, scale_name, seeds, readings
        return function(selection_of_options(*values, by_default_all=by_default_all), **kwargs)

    return wrapped


def _drop_papers_of_cells(names: tuple[str, ...]) -> tuple[str, ...]:
    has_cells = any(name.count("/") > 1 for name in names)
    return tuple(name for name in names if "/" in name or not has_cells)


def split_figures(tables: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the numbers of tables and those of figures, e.g. (["1"], ["4"]) for ("1", "figure-4")."""
    figures = [t.removeprefix(FIGURE) for t in tables if t.startswith(FIGURE)]
    return [t for t in tables if not t.startswith(FIGURE)], figures


def selection_of_options(
    names, tables, rows, everything, scale_name, seeds, readings, *, by_default_all: bool
) -> Selection:
    """Return the named cells, or all if ``by_default_all``. Raises UsageError for no or an unknown name."""
    if not (names or everything or by_default_all):
        lacking = "--table and --row need a paper ({}), or --all" if tables or rows else NOTHING_NAMED
        raise UsageError(lacking.format(", ".join(papers())))
    named = [name.partition("/")[0] for name in names]
    check_known("paper", *named, valid=papers(), hint="`repro show` lists their tables.")
    numbers, figures = split_figures(tables)
    return select(
        *(names if tables or rows else _drop_papers_of_cells(names)),
        tables=numbers,
        figures=figures,
        rows=rows,
        scale=scale_name,
        seeds=seeds_of(seeds),
        readings=reading_choices(readings),
        workspace=Workspace.open(),
    )


GPU = click.option(
    "--gpu", metavar="NAME", help="Estimate hours for this GPU instead of this machine, e.g. h100."
)


def disk_options(function: Callable) -> Callable:
    """Add ``--discard`` (a tuple) and ``--max-disk`` (bytes) to a command."""
    function = click.option(
        "--max-disk",
        metavar="SIZE",
        callback=_parse_size,
        help="Largest size of the store, e.g. 900GB or 1TB. Stages that do not fit are not started.",
    )(function)
    return click.option(
        "--discard",
        metavar="KINDS",
        multiple=True,
        callback=_parse_kinds,
        help="Artefacts to remove after their last use, e.g. vectors,runs,tokens,indexes (repeatable).",
    )(function)


def _parse_kinds(ctx: click.Context, option: click.Option, texts: tuple[str, ...]) -> tuple[str, ...]:
    from repro.running.discarding import discarded_stages

    kinds = tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",")))
    discarded_stages(kinds)
    return kinds


def _parse_size(ctx: click.Context, option: click.Option, text: str | None) -> int | None:
    if text is None:
        return None
    if (size := bytes_of(text)) is None:
        raise UsageError(f"--max-disk is {text!r}, which is not a size, e.g. 900GB or 1.5TB")
    return size


def stated_options(*names: str) -> list[str]:
    """Return the options among ``names`` that the user typed, e.g. ["--out"] for "out"."""
    context = click.get_current_context()
    typed = [p for p in names if context.get_parameter_source(p) is ParameterSource.COMMANDLINE]
    return [option.opts[-1] for option in context.command.params if option.name in typed]


def selecting_words(ctx: click.Context) -> tuple[str, ...]:
    """Return the words that select cells on the command line, without ``--scale`` and ``--seeds``."""
    pairs = [(f"--{name}", value) for name in ("table", "row", "reading") for value in ctx.params[f"{name}s"]]
    return (*ctx.params["names"], *chain.from_iterable(pairs), *["--all"] * ctx.params["everything"])


def seeds_of(text: str | None) -> tuple[int, ...]:
    """Return the seeds of ``--seeds``, e.g. (1, 2) for "1,2" and () for None. Raises UsageError."""
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(map(str.isdecimal, parts)):
        raise UsageError(f"--seeds takes whole numbers separated by commas, not {text!r}")
    return tuple(map(int, parts))


def reading_choices(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return id -> choice for texts ``ID=CHOICE``. Raises UsageError, also for two choices of an id."""
    choices: dict[str, str] = {}
    for pair in pairs:
        id, sign, choice = map(str.strip, pair.partition("="))
        if not sign:
            hint = "`repro show readings PAPER` lists both."
            raise UsageError(f"--reading takes ID=CHOICE, not {pair!r}. {hint}")
        if choices.setdefault(id, choice) != choice:
            raise UsageError(f"--reading gives {id!r} two choices. Run the command once for each.")
    return choices
