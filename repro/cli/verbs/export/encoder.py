"""``repro export encoder``"""

from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import scale_option


@click.command(
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
def command(what, output, scale_name, seed):
    """Write the encoder behind a measured cell where other libraries can load it.

    transformers finds the model and its tokenizer, sentence-transformers what comes behind it as well, and
    `repro compare` all of it. README.md tells what it was made from and what it reached.
    """
    from repro.exchange.encoder_export import encoder_of, export
    from repro.exchange.model_card import card_of
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    workspace, named_scale = Workspace.open(), scale(scale_name)
    encoder = encoder_of(what, workspace, scale=named_scale, seed=seed)
    facts = {"from": what, "scale": named_scale.name, "seed": seed, "model": encoder.source.model.fingerprint}
    card = card_of(encoder, workspace, scale=named_scale)
    export(encoder.source, workspace.store, Path(output).expanduser(), card=card, about=facts)
    print(output)
