"""``repro export``: a run or an encoder, for others."""

import sys
from pathlib import Path

import click

from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import scale_option
from repro.cli.printing import say
from repro.errors import UsageError

command = views(
    "export",
    {
        "run": "the run behind a measured cell, with ir_metadata if asked",
        "encoder": "the model behind a measured cell, as other libraries load it",
    },
    help="""Write a run or an encoder where others can use them.""",
    epilog="""\b
Examples:
  repro export run PAPER/1/ROW/dl19.ndcg10 -o run.trec.gz
  repro export encoder PAPER/1/ROW/COLUMN -o DIR""",
)


@command.command(
    "run",
    epilog="""\b
Examples:
  repro export run PAPER/1/ROW/dl19.ndcg10 -o run.trec.gz
  repro export run 3f2a… --annotate 0.2 > run.annotated.trec""",
)
@click.argument("what", metavar="CELL|FINGERPRINT", shell_complete=completion.cells)
@click.option(
    "--annotate",
    "schema",
    is_flag=False,
    flag_value="0.1",
    type=click.Choice(["0.1", "0.2"]),
    help="Put an ir_metadata header into the file, of version 0.1 where none is named;"
    " 0.2, the TIREx tracker's proposal, adds the resources that the run took.",
)
@click.option("-o", "--output", metavar="FILE", help="Instead of standard output; .gz is packed.")
@scale_option(help="Of the cell's record.")
def run(what, schema, output, scale_name):
    """Write the TREC run behind a measured cell, or behind the fingerprint of a run or of its evaluation.

    Of a cell's records whose runs the store has, the last of the suite's own is taken, by all defaults
    and the paper's seed first, else the last imported one; standard error says which. Annotated files
    stop readers that know no header (pytrec_eval, ir_measures, ranx); plain ones are read everywhere.
    """
    from pathlib import Path

    from repro.exchange.run_export import stored_run
    from repro.running.scale import scale
    from repro.running.workspace import Workspace
    from repro.verdicts.comparison import doubts_of

    if output == "":
        raise UsageError("-o was given an empty name; name a file, or leave -o out for standard output")
    workspace = Workspace.open()
    run = stored_run(what, workspace.store, workspace.results, scale=scale(scale_name).name)
    header = run.header(schema) if schema else ""
    _write(header, run.path, Path(output) if output else None)
    if run.described:
        say(run.described)
    for doubt in doubts_of(run.record, workspace) if run.record else ():
        say(f"in doubt, {doubt}")


def _write(header: str, run, output) -> None:
    import gzip
    import shutil

    with run.open("rb") as source:
        if output is None:
            sys.stdout.flush()
            sys.stdout.write(header)
            sys.stdout.writelines(line.decode() for line in source)
            return
        opener = gzip.open if output.suffix == ".gz" else open
        with opener(output, "wb") as target:
            target.write(header.encode())
            shutil.copyfileobj(source, target)


@command.command(
    "encoder",
    epilog="""\b
Examples:
  repro export encoder PAPER/1/ROW/COLUMN -o DIR
  repro export encoder PAPER/1/ROW/COLUMN --scale tiny -o DIR
  repro export encoder 3f2a… -o DIR                     of a run or a score, by its fingerprint""",
)
@click.argument("what", metavar="CELL|FINGERPRINT", shell_complete=completion.cells)
@click.option("-o", "--output", required=True, metavar="DIR", help="A directory that is not there, or empty.")
@scale_option(help="At which it was measured.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Of several; else the paper's own."
)
def encoder(what, output, scale_name, seed):
    """Write the encoder behind a measured cell where other libraries can load it.

    transformers finds the model and its tokenizer, sentence-transformers what comes behind it as well, and
    `repro compare` all of it. README.md tells what it was made from and what it reached.
    """
    from repro.exchange.encoder_export import card_of, encoder_of, export
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    workspace, named_scale = Workspace.open(), scale(scale_name)
    encoder = encoder_of(what, workspace, scale=named_scale, seed=seed)
    facts = {"from": what, "scale": named_scale.name, "seed": seed, "model": encoder.source.model.fingerprint}
    card = card_of(encoder, workspace, scale=named_scale)
    export(encoder.source, workspace.store, Path(output).expanduser(), card=card, about=facts)
    print(output)
