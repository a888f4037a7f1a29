"""Options that several verbs share, and what they select."""

import functools
from collections.abc import Callable
from pathlib import Path

import click
from click.core import ParameterSource

from repro.api.selection import select
from repro.cli import completion
from repro.errors import UsageError, check_known
from repro.machine.sizes import bytes_of
from repro.manifest.cells import cell
from repro.manifest.papers import papers
from repro.running.scale import with_scale_of
from repro.running.workspace import Workspace

OF_FILE = "repro.scale_of_file"  # what a command's context knows it by


def scale_option(name: str = "scale_name", **how) -> Callable:
    """A decorator with ``--scale``, and ``--scale-file`` for a scale of the user's own in its place.

    Where several scales may be named, or none for all, that of the file is one more.

    Args:
        name: of the parameter, whose value is the scale's name.
        how: else of the option, as click takes it.
    """
    defaults = {"shell_complete": completion.scale_names}
    if "multiple" not in how:
        defaults |= {"default": "full", "show_default": True, "callback": _check_scale_alone}
    by_name = click.option("--scale", name, **defaults | how)
    by_file = click.option(
        "--scale-file",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=functools.partial(_take_scale, name),
        help="A scale of your own in YAML; never compared with the published numbers.",
    )
    return lambda function: by_name(by_file(function))


def _take_scale(name: str, ctx: click.Context, param: click.Parameter, file: str | None) -> None:
    """Know the scale of the file while the command runs, and let ``--scale`` be it where that is one."""
    if file is None:
        return
    scale = ctx.with_resource(with_scale_of(Path(file).expanduser()))
    ctx.meta[OF_FILE] = scale.name, file
    if not any(option.name == name and option.multiple for option in ctx.command.params):
        ctx.default_map = {**(ctx.default_map or {}), name: scale.name}


def _check_scale_alone(ctx: click.Context, param: click.Parameter, value: str) -> str:
    name, _ = ctx.meta.get(OF_FILE, (value, None))
    if value != name:
        raise UsageError(f"--scale-file describes the scale {name}; leave --scale out")
    return value


def _repeatable_option(flag: str, metavar: str, completer: Callable, description: str) -> Callable:
    """An option that may be given several times, collected under the plural of its name."""
    names = (f"--{flag}", f"{flag}s")
    return click.option(*names, multiple=True, metavar=metavar, shell_complete=completer, help=description)


def _options(scale: str, *, records: bool) -> list[Callable]:
    """The selection options, with the scale that is meant where none is named, and ``records``' folder."""
    options = [
        click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names),
        _repeatable_option("table", "N", completion.tables, "Only this table; may be repeated."),
        _repeatable_option("row", "ROW", completion.rows, "Only this row, or a system in every group."),
        _repeatable_option("cell", "ID", completion.cells, "Only this cell, paper/table/row/column."),
        _repeatable_option("figure", "N", completion.figures, "Only this figure."),
        click.option(
            "--all", "everything", is_flag=True, help="Everything (of the named papers, or of all)."
        ),
        scale_option(
            default=scale,
            help="full is the paper; small and tiny cost less, and no verdict is given on their numbers.",
        ),
        click.option("--seeds", metavar="1,2,3", help="Fine-tuning seeds instead of the paper's own."),
        click.option(
            "--reading",
            "readings",
            multiple=True,
            metavar="ID=CHOICE",
            shell_complete=completion.readings,
            help="Another value of an unspecified choice.",
        ),
        click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE)."),
    ]
    told = click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
    return [*options, told] if records else options


def selecting_for_plan(function: Callable) -> Callable:
    """Give a command the selection options but --results: of a plan there are no records."""
    return selection_options(function, records=False)


def selecting_for_rehearsal(function: Callable) -> Callable:
    """Give a command the options of a plan, whose scale is the rehearsal unless another is named."""
    return selection_options(function, scale="rehearsal", records=False)


def selecting_everything(function: Callable) -> Callable:
    """Give a command the selection options, which without a paper or cell select from everything."""
    return selection_options(function, by_default_all=True)


def selection_options(
    function: Callable, *, by_default_all: bool = False, scale: str = "full", records: bool = True
) -> Callable:
    """Give a command the selection options; it is called with a ``Selection`` first."""

    @functools.wraps(function)
    def wrapped(
        names,
        tables,
        rows,
        cells,
        figures,
        everything,
        scale_name,
        seeds,
        readings,
        store,
        results=None,
        **kwargs,
    ):
        everything = everything or (by_default_all and not cells)
        if (tables or figures or rows) and not (names or everything):
            raise UsageError(f"--table, --figure and --row need a paper ({', '.join(papers())}), or --all")
        if not (names or cells or everything):
            raise UsageError(f"name a paper ({', '.join(papers())}), a --cell, or --all")
        cells_alone = cells and not (tables or figures or rows)  # a paper named beside a cell adds nothing
        check_known("paper", *(name.partition("/")[0] for name in names if cells_alone), valid=papers())
        selection = select(
            *(() if cells_alone else names),
            *(cell(identifier).id for identifier in cells),
            tables=tables,
            figures=figures,
            rows=rows,
            scale=scale_name,
            seeds=seeds_of(seeds),
            readings=reading_choices(readings),
            workspace=Workspace.open(store, results),
        )
        return function(selection, **kwargs)

    for option in reversed(_options(scale, records=records)):
        wrapped = option(wrapped)
    return wrapped


def disk_options(function: Callable) -> Callable:
    """Give a command the options on the disk that a run takes; ``discard`` is a tuple, ``max_disk`` bytes."""
    function = click.option(
        "--max-disk",
        metavar="SIZE",
        callback=_size,
        help="The most that the store may take, as 900GB or 1TB; what does not fit is not begun.",
    )(function)
    return click.option(
        "--discard",
        metavar="KINDS",
        callback=_kinds,
        help="Remove what nothing selected reads any more: vectors, runs (of training queries), tokens,"
        " indexes, separated by commas. It is made again when something asks for it. What other processes,"
        " Slurm's queue or nodes noted since the run began are to read stays.",
    )(function)


def _kinds(ctx: click.Context, option: click.Option, text: str | None) -> tuple[str, ...]:
    from repro.running.discarding import DISCARDABLE

    kinds = () if text is None else tuple(part.strip() for part in text.split(","))
    check_known("kind of artefact to discard", *kinds, valid=DISCARDABLE)
    return kinds


def _size(ctx: click.Context, option: click.Option, text: str | None) -> int | None:
    if text is None:
        return None
    if (size := bytes_of(text)) is None:
        raise UsageError(f"--max-disk is {text!r}, which is no size; write it like 900GB or 1.5TB")
    return size


def stated_options(*names: str) -> list[str]:
    """The options for these parameters of the command that its command line has."""
    context = click.get_current_context()
    typed_names = [p for p in names if context.get_parameter_source(p) is ParameterSource.COMMANDLINE]
    return [option.opts[-1] for option in context.command.params if option.name in typed_names]


def selecting_words(ctx: click.Context) -> tuple[str, ...]:
    """The papers and options of a command line that select cells, to be typed again at another scale."""
    words = [word for option in ("table", "figure", "row", "cell", "reading") for word in _words(ctx, option)]
    return (*ctx.params["names"], *words, *(["--all"] if ctx.params["everything"] else []))


def _words(ctx: click.Context, option: str) -> list[str]:
    return [word for value in ctx.params[f"{option}s"] for word in (f"--{option}", value)]


def seeds_of(text: str | None) -> tuple[int, ...]:
    """The whole numbers of ``--seeds``, each once. Raises UsageError for another form."""
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
        identifier, sign, choice = pair.partition("=")
        if not sign:
            raise UsageError(f"--reading takes ID=CHOICE, not {pair!r}; `repro readings PAPER` lists both")
        if choices.setdefault(identifier.strip(), choice.strip()) != choice.strip():
            message = f"--reading gives {identifier.strip()!r} two choices"
            raise UsageError(f"{message}; run the command once for each")
    return choices
