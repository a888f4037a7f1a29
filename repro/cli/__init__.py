"""The command line: ``repro VERB``. Each verb lives in a file of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys

import click

from repro import __version__
from repro.errors import ReproError

# verb -> one line for --help; the module of that name holds the command. Grouped as they are printed.
VERBS = {
    "look": {
        "list": "papers with their tables and how much of each can be run",
        "show": "a table as printed, or everything known about one cell",
        "cells": "every numeric result cell, as text, JSON or CSV",
        "readings": "the silences, misprints and conflicts of a paper, and their choices",
    },
    "do": {
        "plan": "what a run would do: stored, missing and blocked stages",
        "run": "measure a selection of cells and compare it with print",
        "status": "how far the selected cells have come",
        "stage": "build one artefact of a plan by its fingerprint",
    },
    "judge": {
        "compare": "verdicts from what is stored; never trains",
    },
    "print": {
        "tables": "LaTeX of the tables, print and ours",
    },
    "keep house": {
        "data": "what data there is, whether it is sound, how to get the rest",
        "doctor": "what this machine can run, and what to do about the rest",
        "verify": "read every artefact of the store and name the damaged ones",
    },
}


class _Verbs(click.Group):
    """A group that knows its verbs without importing them."""

    def list_commands(self, ctx):
        return [verb for group in VERBS.values() for verb in group]

    def get_command(self, ctx, name):
        if name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"repro.cli.{name}_").command

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
  repro show PAPER --table 1               the table as printed
  repro plan PAPER --table 1               what the full reproduction would take
  repro compare --all                      verdicts on whatever was measured
\b
Shell completion: eval "$(_REPRO_COMPLETE=bash_source repro)"   (or zsh_source, fish_source)
Exit status: 0 done, 1 a verdict did not pass under --strict, 2 bad input, 3 a stage failed, 4 something is missing.
""",
)
@click.version_option(__version__, prog_name="repro")
def cli():
    """Reproduce papers on dense-retrieval pre-training, cell by cell.

    Every cell of every table has a name (paper/table/row/column), a way to be measured, and a verdict.
    """


def main() -> None:
    """Entry point: errors a user can act on are one sentence on standard error."""
    try:
        status = cli(standalone_mode=False)
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.Abort:
        _say("interrupted; the same command continues where it stopped")
        status = 130
    except click.ClickException as error:
        _say(error.format_message())
        status = error.exit_code
    except ReproError as error:
        _say(str(error))
        status = error.exit_status
    except KeyboardInterrupt:
        _say("interrupted; the same command continues where it stopped")
        status = 130
    except BrokenPipeError:
        sys.stderr.close()
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _say(sentence: str) -> None:
    print(f"repro: {sentence}", file=sys.stderr)
