"""The command line, e.g. ``repro show PAPER``. Each verb is a module imported on use."""

import atexit
import contextlib
import gc
import itertools
import os
import signal
import sys
from collections.abc import Iterator

import click

from repro import errors, locations
from repro.cli.groups import LazyGroup, plugin_commands
from repro.machine import INSTALL, extra_of
from repro.machine.bounded_reading import short_names
from repro.version import __version__

# verb -> its line of --help
VERBS = {
    "begin": {"demo": "a tour of the suite in a minute or two"},
    "look": {"show": "papers, tables, cells, their readings and settings"},
    "do": {
        "plan": "the stages, downloads, disk and hours of a run, and its progress",
        "run": "measure cells and compare them with the published numbers",
    },
    "judge": {
        "compare": "verdicts from stored results, without training",
        "audit": "inconsistent numbers, marks and sentences of papers or of a file",
    },
    "write": {
        "tables": "LaTeX tables, published and measured",
        "report": "an HTML report, figures, pages of a site",
    },
    "exchange": {"export": "a run or an encoder", "import": "a run by others"},
    "keep house": {
        "data": "list, check and fetch collections",
        "doctor": "requirements and speed of this machine, self-tests",
        "store": "verify artefacts and records, remove unused ones",
    },
    "extend": {"new": "start another paper"},
}
CORE = {verb for section in VERBS.values() for verb in section}
HIDDEN = ("stage",)  # called by engines
BRIEF = {"show", "plan", "compare", "audit", "tables", "report", "store"}  # run without garbage collection
PAGED = {"show", "plan", "compare", "audit"}
CONTINUING = {"demo", "run", "stage", "compare", "export", "import", "data"}
FOLDERS = {"store": "artefacts", "results": "records", "data": "your own collections"}


def _folder_options(function):
    for name, contents in reversed(FOLDERS.items()):
        text = f"Folder of {contents}, by default REPRO_{name.upper()}."
        function = click.option(f"--{name}", metavar="DIR", help=text)(function)
    return function


class _CommandLine(LazyGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words, folders, others = iter(args), [], []
        for word in words:
            if word.partition("=")[0] in {f"--{name}" for name in FOLDERS}:
                folders += [word] if "=" in word else [word, *itertools.islice(words, 1)]
            else:
                others.append(word)
        return super().parse_args(ctx, [*folders, *others])


@click.command(
    cls=_CommandLine,
    package="repro.cli.verbs",
    sections=VERBS,
    hidden=HIDDEN,
    kind="verb",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
--store, --results and --data can be anywhere on the line.
\b
Examples:
  repro show                              papers, tables, figures
  repro run PAPER --table 1 --scale tiny  the whole pipeline in minutes on a CPU
  repro show PAPER --table 1              the table as published
  repro plan PAPER --table 1              the cost of the full reproduction
  repro compare --all                     verdicts on all stored results
\b
Shell completion: eval "$(_REPRO_COMPLETE=bash_source repro)"   (or zsh_source, fish_source)
Exit status: 0 done, 1 a verdict did not pass (--strict), 2 bad input, 3 a stage failed, 4 something missing.
""",
)
@_folder_options
@click.version_option(__version__, prog_name="repro")
@click.pass_context
def cli(ctx, **folders):
    """Reproduce papers on dense-retrieval pre-training, cell by cell.

    A cell is named PAPER/TABLE/ROW/COLUMN.
    """
    for name, folder in folders.items():
        if folder == "":
            raise errors.UsageError(f"--{name} is empty. Name a folder or remove the option.")
        if folder is not None:
            ctx.with_resource(_set_variable(f"REPRO_{name.upper()}", folder))


@contextlib.contextmanager
def _set_variable(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = str(locations.resolved(value, variable))
    try:
        yield
    finally:
        os.environ.pop(variable)
        if before is not None:
            os.environ[variable] = before


def main() -> None:
    """Run the command line and exit with its status. An error is one sentence on standard error."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if hasattr(sys.stdout, "reconfigure"):
        # papers contain signs such as †, and file names any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    gc.disable()
    if _verb() not in BRIEF | _plugin_verbs():
        gc.enable()
    atexit.register(gc.freeze)  # avoids a last collection
    with _interruptible():
        status = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            _say(f"standard output: {error.strerror}")
            status = 2
        _discard_output()
    sys.exit(status)


def _verb() -> str:
    return next((word for word in sys.argv[1:] if word in CORE | _plugin_verbs()), "")


def _plugin_verbs() -> set[str]:
    try:
        return {name for name in plugin_commands() if " " not in name} - CORE
    except errors.ReproError:  # reported later
        return set()


def _pager() -> contextlib.AbstractContextManager:
    if _verb() not in PAGED | _plugin_verbs() or not sys.stdout.isatty():
        return contextlib.nullcontext()
    from repro.cli.printing import paged

    return paged()


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    handlers = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _run() -> int:
    stdout = sys.stdout
    advice = ". The same command continues where it stopped." if _verb() in CONTINUING else ""
    try:
        with _pager():
            status = _call_verb()
            sys.stdout.flush()
        return status
    except (click.Abort, KeyboardInterrupt):
        _say(f"interrupted{advice}")
        return 130
    except (BrokenPipeError, SystemExit) as error:
        # rich and click exit if the reader ended
        if sys.stdout is stdout and BrokenPipeError not in (type(error), type(error.__context__)):
            raise
        _discard_output()
        if advice:
            _say(f"the reader of standard output ended{advice}")
        return 128 + signal.SIGPIPE
    except (click.ClickException, errors.ReproError, OSError) as error:
        return _print_error(error)


def _print_error(error: click.ClickException | errors.ReproError | OSError) -> int:
    if isinstance(error, click.ClickException):
        _print_usage_error(error)
        return error.exit_code
    if isinstance(error, errors.ReproError):
        _say(short_names(str(error)))
        return error.exit_status
    _say(f"{error.filename or 'standard output'}: {error.strerror or error}")
    if not error.filename:
        _discard_output()
    return 2


def _call_verb() -> int:
    try:
        status = cli(prog_name="repro", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name)) is None:
            raise
        install = INSTALL.format(extra)
        _say(f"this use of `repro {_verb()}` needs `{install}` ({error.name} is not installed)")
        return errors.BlockedError.exit_status


def _print_usage_error(error: click.ClickException) -> None:
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if context is None:
        return _say(message.rstrip("."))
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return print(message, file=sys.stderr)
    _say(f"{message.rstrip('.')}. `{context.command_path.strip()} --help` describes the options.")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"repro: {errors.one_line(text)}", file=sys.stderr)
