"""``repro export``, e.g. ``repro export encoder PAPER/1/ROW/COLUMN -o DIR``."""

import gzip
import shutil
import sys
from pathlib import Path

import click

from repro.cli import completion, groups, options, printing
from repro.errors import UsageError
from repro.running.scale import scale
from repro.running.workspace import Workspace

command = groups.views(
    "export",
    {
        "run": "the run of a measured cell, optionally with ir_metadata",
        "encoder": "the model of a measured cell in the format of other libraries",
    },
    help="""Write a run or an encoder in standard formats.""",
    epilog="""\b
Examples:
  repro export run PAPER/1/ROW/dl19.ndcg10 -o run.trec.gz
  repro export encoder PAPER/1/ROW/COLUMN -o DIR""",
)


WHAT = click.argument("what", metavar="CELL|FINGERPRINT", shell_complete=completion.names)


@command.command(
    "run",
    epilog="""\b
Examples:
  repro export run PAPER/1/ROW/dl19.ndcg10 -o run.trec.gz
  repro export run 3f2a… --annotate 0.2 > run.annotated.trec""",
)
@WHAT
@click.option(
    "--annotate",
    "schema",
    is_flag=False,
    flag_value="0.1",
    type=click.Choice(["0.1", "0.2"]),
    help="Add an ir_metadata header, by default of version 0.1. Version 0.2 (TIREx tracker) adds resources.",
)
@click.option("-o", "--output", metavar="FILE", help="File to write instead of standard output, e.g. run.gz.")
@options.scale_option(help="Scale of the cell's record.")
def run(what, schema, output, scale_name):
    """Write the TREC run of a measured cell, or of a run or evaluation named by its fingerprint.

    Of several records, one with default readings and the paper's seed is preferred, and runs by others come
    last. Standard error names the record. pytrec_eval, ir_measures and ranx cannot read annotated files.
    """
    from repro.exchange.run_export import stored_run
    from repro.verdicts.comparison import doubts_of

    if output == "":
        raise UsageError("-o is empty. Name a file, or remove -o for standard output.")
    workspace = Workspace.open()
    run = stored_run(what, workspace.store, workspace.results, scale=scale(scale_name).name)
    header = run.header(schema) if schema else ""
    _write(header, run.path, Path(output) if output else None)
    if run.described:
        printing.say(run.described)
    for doubt in doubts_of(run.record, workspace) if run.record else ():
        printing.say(f"doubt: {doubt}")


def _write(header: str, run, output) -> None:
    with run.open("rb") as source:
        if output is None:
            sys.stdout.write(header)
            sys.stdout.writelines(line.decode() for line in source)
            return
        with (gzip.open if output.suffix == ".gz" else open)(output, "wb") as target:
            target.write(header.encode())
            shutil.copyfileobj(source, target)


@command.command(
    "encoder",
    epilog="""\b
Examples:
  repro export encoder PAPER/1/ROW/COLUMN -o DIR
  repro export encoder PAPER/1/ROW/COLUMN --scale tiny -o DIR
  repro export encoder 3f2a… -o DIR  the encoder of a run or score""",
)
@WHAT
@click.option("-o", "--output", required=True, metavar="DIR", help="New or empty folder.")
@options.scale_option(help="Scale of the cell's record.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Seed, by default the paper's.")
def encoder(what, output, scale_name, seed):
    """Write the encoder of a measured cell for transformers, sentence-transformers and `repro compare`.

    README.md in the folder describes its training and scores.
    """
    from repro.exchange.encoder_export import card_of, encoder_of, export

    workspace, at_scale = Workspace.open(), scale(scale_name)
    encoder = encoder_of(what, workspace, scale=at_scale, seed=seed)
    facts = {"from": what, "scale": at_scale.name, "seed": seed, "model": encoder.source.model.fingerprint}
    card = card_of(encoder, workspace, scale=at_scale)
    export(encoder.source, workspace.store, Path(output).expanduser(), card=card, about=facts)
    print(output)
