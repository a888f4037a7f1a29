"""The command line: ``repro VERB``. Each verb lives in a file of its own, imported when it is called."""

import atexit
import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator

import click

from repro import __version__
from repro.cli.variables import misspelt
from repro.errors import ReproError

# verb -> one line for --help; the module of that name holds the command. Grouped as they are printed.
VERBS = {
    "begin": {
        "demo": "what the suite does, in a minute or two",
        "smoke": "train and score a few steps from nothing, for a CI of yours",
    },
    "look": {
        "list": "papers with their tables and how much of each can be run",
        "show": "a table as published, or everything known about one cell",
        "cells": "every numeric result cell, as text, JSON or CSV",
        "reported": "what others measured of the same cells, and where they say so",
        "coverage": "what is measured, what could be and how, and what cannot be",
        "settings": "published and released settings, held against what would be run",
        "readings": "the unspecified choices of a paper: silences, misprints, conflicts",
    },
    "do": {
        "plan": "what a run would do: stored, missing and blocked stages",
        "rehearse": "try every stage on the first rows, and tell what the whole will cost",
        "run": "measure a selection of cells and compare it with the published numbers",
        "status": "how far the selected cells have come",
        "stage": "build one artefact of a plan by its fingerprint",
    },
    "judge": {
        "compare": "verdicts from what is stored; never trains",
        "claims": "sentences, marks and bold numbers, judged in the paper and in what was measured",
        "audit": "what does not fit in papers: numbers, sentences, references; and what each is held against",
        "evaluate": "score a run file, or anybody's encoder on a table's columns",
    },
    "write": {
        "tables": "LaTeX of the tables, published and ours",
        "figures": "drawings and views from what was measured",
        "report": "one page of everything, or its verdicts in Markdown",
        "article": "a study as a short paper: its prose with what was measured",
        "pages": "a page per table for a documentation site: row, command, published, measured",
    },
    "exchange": {
        "push": "stored artefacts of the selected cells to another store",
        "pull": "artefacts of the selected cells from another store, checked on arrival",
        "import-run": "score somebody else's run file for cells, or the public runs",
        "export": "records with their provenance, for a deposit",
        "export-encoder": "the model behind a measured cell, as other libraries load it",
        "export-run": "the run behind a measured cell, with ir_metadata if asked",
    },
    "keep house": {
        "data": "what data there is, whether it is sound, how to get the rest",
        "calibrate": "measure this machine, for estimates of hours",
        "doctor": "what this machine can run, and what to do about the rest",
        "verify": "read every artefact and record, name the damaged ones, compute some again",
        "gc": "what in the store no manifest needs; --yes removes it",
    },
    "extend": {
        "new-paper": "begin another paper: a folder of placeholders that runs",
        "new-report": "what somebody measured, from the form of an issue to an entry of reports.yaml",
    },
}
# verbs that read, plan, judge and write, and then end: nearly all that they make stays until then
BRIEF = {*VERBS["look"], "plan", "status", "compare", "claims", "audit"}
BRIEF |= {"tables", "report", "article", "pages", "gc"}


# verbs that keep what is done, and go on from there when they are given again
CONTINUING = {"demo", "rehearse", "run", "stage", "evaluate", "push", "pull", "import-run", "data"}


class _Verbs(click.Group):
    """A group that knows its verbs without importing them."""

    def list_commands(self, ctx):
        return [verb for group in VERBS.values() for verb in group]

    def get_command(self, ctx, name):
        if name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"repro.cli.verbs.{name.replace('-', '_')}").command

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from repro.errors import unknown

            raise unknown("verb", args[0], self.list_commands(ctx)) from None

    def format_commands(self, ctx, formatter):
        for title, group in VERBS.items():
            with formatter.section(title.capitalize()):
                formatter.write_dl(list(group.items()))


@click.command(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
Examples:
  repro list                               papers, tables, figures
  repro run PAPER --table 1 --scale tiny   everything end to end, in minutes, on a CPU
  repro show PAPER --table 1               the table as published
  repro plan PAPER --table 1               what the full reproduction would take
  repro compare --all                      verdicts on whatever was measured
\b
Shell completion: eval "$(_REPRO_COMPLETE=bash_source repro)"   (or zsh_source, fish_source)
Exit status: 0 done, 1 a verdict did not pass (--strict), 2 bad input, 3 a stage failed, 4 something missing.
""",
)
@click.version_option(__version__, prog_name="repro")
def cli():
    """Reproduce papers on dense-retrieval pre-training, cell by cell.

    Every cell of every table has a name (paper/table/row/column), a way to be measured, and a verdict.
    """


def main() -> None:
    """Entry point: what a user can act on is one sentence on standard error and an exit status."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: print would fail, or use another's descriptor
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if hasattr(sys.stdout, "reconfigure"):
        # papers print signs that most other encodings lack; names of files may be any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    if BRIEF.intersection(sys.argv[1:2]):
        gc.disable()
    for sentence in misspelt(os.environ):
        _say(sentence)
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


def _give_up_output() -> None:
    """Lose what is left in the buffer of a standard output that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal interrupt as Ctrl-C does, where they are not ignored."""
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
    """Run the command line and say what went wrong, if anything."""
    stdout = sys.stdout
    continues = CONTINUING.intersection(sys.argv[1:2])
    advice = "; the same command continues where it stopped" if continues else ""
    try:
        status = cli(prog_name="repro", standalone_mode=False)
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


def _home_remedy(error: OSError) -> str:
    """Say what to do where the user's home is not there, or cannot be used."""
    home, name = os.path.expanduser("~"), str(error.filename or "")
    is_of_home = name and os.path.commonpath([home, os.path.abspath(name)]) in (home, os.path.abspath(name))
    remedy = "; set HOME, or REPRO_STORE, REPRO_RESULTS and REPRO_DATA, to folders that can be written"
    return remedy if is_of_home and not os.access(home, os.W_OK) else ""


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"; `{context.command_path} --help` says what there is" if context else ""


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError):  # a standard error that cannot be written changes no exit status
        print(f"repro: {sentence}", file=sys.stderr)
