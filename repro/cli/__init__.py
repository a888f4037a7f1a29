"""The command line ``repro VERB``, e.g. ``repro show PAPER``. Each verb is a module imported on use."""

import atexit
import contextlib
import gc
import itertools
import os
import signal
import sys
from collections.abc import Iterable, Iterator

import click

from repro.cli.groups import LazyGroup, plugin_commands
from repro.errors import BlockedError, ReproError, UsageError, one_line
from repro.locations import resolved
from repro.machine.extras import INSTALL, extra_of
from repro.version import __version__

# verb -> one line for --help; the module of that name holds the command
VERBS = {
    "begin": {"demo": "what the suite does, in a minute or two"},
    "look": {"show": "papers, a table, a cell; and all that is known of their numbers and settings"},
    "do": {
        "plan": "what a run would do and take, and how far it has come",
        "run": "measure a selection of cells and compare it with the published numbers",
    },
    "judge": {
        "compare": "verdicts from what is stored; never trains",
        "audit": "what does not fit in papers, or in a file of yours: numbers, marks, sentences",
    },
    "write": {
        "tables": "LaTeX of the tables, published and ours",
        "report": "one page of everything; figures, pages of a site",
    },
    "exchange": {
        "export": "records, a run or an encoder",
        "import": "somebody else's run",
    },
    "keep house": {
        "data": "what data there is, whether it is sound, how to get the rest",
        "doctor": "what this machine can run, and what to do about the rest",
        "store": "read every artefact and record again, or remove what nothing needs",
    },
    "extend": {"new": "begin another paper"},
}
HIDDEN = ("stage",)  # the unit that engines call
# verbs that read, plan, judge and write, and then end: nearly all that they make stays until then
BRIEF = {"show", "plan", "compare", "audit", "tables", "report", "store"}
PAGED = {"show", "plan", "compare", "audit"}
# verbs that keep what is done, and go on from there when they are given again
CONTINUING = {"demo", "run", "stage", "compare", "export", "import", "data"}
# of the environment, those that the suite heeds
VARIABLES = (
    *("REPRO_STORE", "REPRO_RESULTS", "REPRO_DATA", "REPRO_JAVA_HOME"),
    *("REPRO_PAGER", "REPRO_PLUGINS"),
    *("REPRO_MICRO_BATCH", "REPRO_PADDING_FREE", "REPRO_SAVE_STEPS", "REPRO_SEARCH_MEMORY"),
)
NEAR = 0.85  # of difflib's ratio; REPRO_TEST_STORE, which tests heed, is farther from REPRO_STORE
FOLDERS = {"store": "artefacts", "results": "records", "data": "collections of yours"}


def _folder_options(function):
    for name, what in reversed(FOLDERS.items()):
        text = f"Where {what} lie (REPRO_{name.upper()})."
        function = click.option(f"--{name}", metavar="DIR", help=text)(function)
    return function


class _CommandLine(LazyGroup):
    """The group of verbs. Options for folders may be anywhere on the line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the options for folders before the verb."""
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
--store, --results and --data may stand anywhere on the line.
\b
Examples:
  repro show                               papers, tables, figures
  repro run PAPER --table 1 --scale tiny   everything end to end, in minutes, on a CPU
  repro show PAPER --table 1               the table as published
  repro plan PAPER --table 1               what the full reproduction would take
  repro compare --all                      verdicts on whatever was measured
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

    Every cell of every table has a name (paper/table/row/column), a way to be measured, and a verdict.
    """
    for name, folder in folders.items():
        if folder == "":
            raise UsageError(f"--{name} is empty; name a folder, or leave the option out")
        if folder is not None:
            ctx.with_resource(_stated(f"REPRO_{name.upper()}", folder))


@contextlib.contextmanager
def _stated(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = str(resolved(value, variable))
    try:
        yield
    finally:
        os.environ.pop(variable)
        if before is not None:
            os.environ[variable] = before


def main() -> None:
    """Run the command line. Errors that users can fix become one sentence on stderr and an exit status."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: print would fail, or use another's descriptor
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if hasattr(sys.stdout, "reconfigure"):
        # papers print signs that most other encodings lack; names of files may be any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    gc.disable()
    if _verb() not in BRIEF | _plugin_verbs():
        gc.enable()
    for warning in misspelt(os.environ):
        _say(warning)
    atexit.register(gc.freeze)  # what ends with the process need not be looked through for garbage
    with _interruptible():
        status = _status()
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            _say(f"standard output: {error.strerror}")
            status = 2
        _give_up_output()
    sys.exit(status)


def _verb() -> str:
    names = {verb for section in VERBS.values() for verb in section} | _plugin_verbs()
    return next((word for word in sys.argv[1:] if word in names), "")


def _plugin_verbs() -> set[str]:
    try:
        added = {name for name in plugin_commands() if " " not in name}
    except ReproError:  # of plugins that cannot be used, which the command line says once it runs
        return set()
    return added - {verb for section in VERBS.values() for verb in section}


def _pages() -> contextlib.AbstractContextManager:
    if _verb() not in PAGED | _plugin_verbs() or not sys.stdout.isatty():
        return contextlib.nullcontext()
    from repro.cli.printing import paged

    return paged()


def _give_up_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _status() -> int:
    """Run the command line, print its error, if any, and return the exit status."""
    stdout = sys.stdout
    continues = _verb() in CONTINUING
    advice = "; the same command continues where it stopped" if continues else ""
    try:
        with _pages():
            status = _command_line()
            sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        _say(f"interrupted{advice}")
        return 130
    except (BrokenPipeError, SystemExit) as error:
        # rich, and click after it put another stdout in place, leave when nobody reads on
        if sys.stdout is stdout and BrokenPipeError not in (type(error), type(error.__context__)):
            raise
        _give_up_output()
        if continues:
            _say(f"nobody reads what is printed{advice}")
        return 128 + signal.SIGPIPE  # as a shell has it of whoever SIGPIPE ends
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        _say(error.format_message().rstrip(".") + _hint(error))
        return error.exit_code
    except ReproError as error:
        _say(str(error))
        return error.exit_status
    except OSError as error:  # of the user's files and folders; what is raised inside a stage stays there
        _say(f"{error.filename or 'standard output'}: {error.strerror or error}{_home_remedy(error)}")
        if not error.filename:
            _give_up_output()
        return 2
    return status if isinstance(status, int) else 0


def _command_line() -> object:
    try:
        return cli(prog_name="repro", standalone_mode=False)
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name)) is None:
            raise
        install = INSTALL.format(extra)
        _say(f"this use of `repro {_verb()}` needs `{install}` ({error.name} is not installed)")
        return BlockedError.exit_status


def _home_remedy(error: OSError) -> str:
    """Return a remedy for an error in the user's home if it is missing or not writable, otherwise ""."""
    home, name = os.path.expanduser("~"), str(error.filename or "")
    is_of_home = name and os.path.commonpath([home, os.path.abspath(name)]) in (home, os.path.abspath(name))
    remedy = "; set HOME, or REPRO_STORE, REPRO_RESULTS and REPRO_DATA, to folders that can be written"
    return remedy if is_of_home and not os.access(home, os.W_OK) else ""


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"; `{context.command_path.strip()} --help` says what there is" if context else ""


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # a standard error that cannot be written changes no exit status
        print(f"repro: {one_line(text)}", file=sys.stderr)


def misspelt(names: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each variable that resembles one of the suite's, e.g. with a letter missing."""
    for name in names:
        if name.startswith("REPRO_") and name not in VARIABLES:
            import difflib

            for near in difflib.get_close_matches(name, VARIABLES, n=1, cutoff=NEAR):
                yield f"the variable {name} has no effect; did you mean {near}?"
