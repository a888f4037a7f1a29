"""``repro compare`` with runs and encoders of one's own as rows, ``repro doctor smoke`` with one."""

from inspect import cleandoc
from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import (
    format_option,
    selecting_names,
    selection_of_options,
    stated_options,
    table_and_row_options,
)
from repro.cli.verbs.compare import command as plain_compare
from repro.cli.verbs.compare import show_verdicts, verdict_options
from repro.cli.verbs.doctor import SCALE, bm25_cell, run_rows, tell
from repro.cli.verbs.doctor import smoke as plain_smoke
from repro.errors import UsageError, check_known, unknown
from repro.manifest.papers import papers
from repro.plugins.yours.sources import is_encoder

YOURS = """
Run files (TREC, MS MARCO, or as ranx and BEIR write them; plain or gzipped) and encoders (a folder, a
name of the hub, or a YAML file with `model` and how it reads texts) become rows of the table that is
named: scored in every column that they cover, and tested against every row with a stored or public run.
Without a paper runs are scored by a dataset, or by judgements of your own, and tested among themselves.
"""


@click.command(
    "compare",
    help=cleandoc(plain_compare.help or "") + "\n" + YOURS,
    epilog=f"""{plain_compare.epilog}
  repro compare my.run PAPER --table 1               a run of yours as a row of a table, tested against all
  repro compare my.run PAPER/1/ROW/COLUMN            against one row
  repro compare DIR PAPER --table 1 --format latex   an encoder of yours, for your paper
  repro compare a.run b.run --dataset msmarco-passage/dev/small --measure AP --measure RR@10
  repro compare my.run --qrels my.qrels --measure nDCG@10 --per-query""",
)
@selecting_names
@verdict_options
@click.option(
    "--dataset",
    metavar="ID",
    shell_complete=completion.datasets,
    help="Whose judgements score a run of yours; found by its queries where a table is named.",
)
@click.option("--qrels", metavar="FILE", help="Judgements of your own, in TREC's or BEIR's form.")
@click.option(
    "--measure", "measures", multiple=True, metavar="M", help="Without a table: this one; may be repeated."
)
@click.option(
    "--per-query", is_flag=True, help="The scores of every query, of yours and of the others' runs."
)
@click.option("--record", is_flag=True, help="Keep a run of yours as somebody's run of the one row named.")
@format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, form, record, per_query, dataset, qrels, measures, **choices):
    """Judge what is selected or, where runs or encoders are named, compare these with it."""
    of_papers, yours = _parted(names)
    options = {"dataset": dataset, "qrels": qrels, "measures": measures}
    if not yours:
        _refuse_options_of_yours(options | {"per_query": per_query, "record": record})
        selection = selection_of_options(of_papers, by_default_all=True, **choices)
        return show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)
    for option in stated_options("strict", "failing", "measured"):
        raise UsageError(f"{option} is for verdicts; what is yours gets none, leave {option} out")
    compared = _compare_yours(yours, of_papers, choices, options)
    if record:
        _record(compared)
    from repro.plugins.yours.lines import show_yours

    return show_yours(compared, form, per_query=per_query)


def _refuse_options_of_yours(options: dict) -> None:
    for name in stated_options(*options):
        raise UsageError(f"{name} is for runs and encoders of yours, and none is named; leave {name} out")


def _parted(names) -> tuple[tuple[str, ...], list[str]]:
    of_papers = tuple(
        name
        for name in names
        if name.partition("/")[0] in papers() and not ("/" in name and Path(name).is_file())
    )
    others = [name for name in names if name not in of_papers]
    absent = [name for name in others if not Path(name).exists()]
    check_known("paper", *(name for name in absent if not {"/", "."} & set(name)), valid=papers())
    if not of_papers and absent and is_encoder(absent[0]):
        remedy = "an encoder is scored in a table: name both, as DIR PAPER --table 1"
        raise unknown("paper", absent[0].partition("/")[0], papers(), hint=remedy)
    return of_papers, others


def _compare_yours(yours: list[str], of_papers, choices: dict, options: dict):
    from repro.plugins.yours.compared_with_yours import compare, compare_with_yours
    from repro.progress import TerminalProgress

    progress = TerminalProgress()
    if not (of_papers or choices["everything"] or choices["tables"] or choices["rows"]):
        for option in stated_options("scale_name", "seeds", "readings"):
            raise UsageError(f"{option} is of a paper's table, and none is named; leave {option} out")
        return compare(yours=yours, progress=progress, **options)
    for option in stated_options("qrels", "measures"):
        raise UsageError(
            f"{option} is for runs without a paper, whose tables have their own; leave {option} out"
        )
    selection = selection_of_options(of_papers, by_default_all=False, **choices)
    return compare_with_yours(selection, yours, options["dataset"], progress)


def _record(compared) -> None:
    from repro.cli.printing import say
    from repro.exchange.run_import import Importer
    from repro.plugins.yours.lines import record
    from repro.progress import TerminalProgress
    from repro.running.workspace import Workspace

    for label, new, count in record(compared.yours, Importer(Workspace.open(), TerminalProgress())):
        say(f"{label}: {new} new records, {count} in all")


@click.command(
    "smoke",
    help=plain_smoke.help,
    epilog=f"""{plain_smoke.epilog}
  repro doctor smoke DIR                   an encoder of yours, through encoding, search and scoring""",
)
@click.argument("names", metavar="[PAPER|ENCODER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def smoke(names, tables, rows):
    """Run rows from nothing, or score an encoder of yours."""
    encoder, others = _encoder_among(names, tables, rows)
    if encoder:
        return tell(lambda workspace: (_score_encoder(encoder, others, tables, workspace), 0))
    return tell(lambda workspace: run_rows(names, tables, rows, workspace))


def _encoder_among(names, tables, rows) -> tuple[str, list[str]]:
    """Return the encoder among names, or nothing, and the others. Raises UsageError where both do not go."""
    from repro.manifest.papers import papers

    encoders = [name for name in names if name.partition("/")[0] not in papers() and is_encoder(name)]
    others = [name for name in names if name not in encoders]
    if encoders and (rows or encoders[1:] or (len(others), len(tables)) not in ((0, 0), (1, 1))):
        message = "one encoder is scored, in the columns of one PAPER's --table or of none named; no --row"
        raise UsageError(message)
    return "".join(encoders), others


def _score_encoder(model, names, tables, workspace) -> list[str]:
    """Score an encoder in the columns of a table, the first one without a name."""
    from repro.plugins.yours.compared_with_yours import compare
    from repro.progress import TerminalProgress
    from repro.writers.grid import rounded

    table = f"{names[0]}/{tables[0]}" if names and tables else bm25_cell().id.rsplit("/", 2)[0]
    compared = compare(table, yours=model, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    cells = [c for own in compared.yours for row in own.rows for c in row.cells]
    scores = [(c.cell, c.records[0]) for c in cells]
    return [
        f"scored: {cell.id}, {record.measure} {rounded(record.measured, cell)}" for cell, record in scores
    ]
