"""``repro export artefacts``"""

import click

from repro.cli.options import selecting_everything


@click.command(
    "artefacts",
    epilog="\b\nExamples:\n  repro export artefacts PAPER --table 1 --to /mnt/shared/store\n"
    "  repro export artefacts PAPER/1/ROW/COLUMN --inputs --to s3://bucket/store\n"
    "  repro export artefacts PAPER --scale small --only 3f2a… --to backbones",
)
@selecting_everything
@click.option("--to", "destination", metavar="DEST", required=True, help="A folder, or a URL.")
@click.option("--inputs", is_flag=True, help="Everything below the scores, too: runs, models, collections.")
@click.option(
    "--only", multiple=True, metavar="FINGERPRINT", help="Only this artefact of them, by its first digits."
)
def command(selection, destination, inputs, only):
    """Send stored artefacts of the selected cells to another store.

    DEST is a folder, or a URL that fsspec knows (some take a package of their own, as s3:// takes s3fs).
    Everything sent is read back and compared. What is there is not sent again; killed anywhere, the same
    command continues.
    """
    from repro.cli.printing import show_transfer
    from repro.exchange.artefacts import chosen_nodes, send
    from repro.progress import TerminalProgress

    plan, store = selection.plan(), selection.workspace.store
    nodes = chosen_nodes(plan, inputs=inputs, only=only)
    return show_transfer(send(plan, nodes, store, destination, progress=TerminalProgress()))
