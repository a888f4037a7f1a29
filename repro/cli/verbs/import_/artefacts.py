"""``repro import artefacts``"""

import click

from repro.cli.options import selecting_everything


@click.command(
    "artefacts",
    epilog="\b\nExamples:\n  repro import artefacts PAPER --table 1 --from /mnt/shared/store\n"
    "  repro import artefacts PAPER/1/ROW/COLUMN --inputs --from https://host/store\n"
    "  repro import artefacts PAPER --scale small --only 3f2a… --from backbones",
)
@selecting_everything
@click.option("--from", "source", metavar="SRC", required=True, help="A folder, or a URL.")
@click.option("--inputs", is_flag=True, help="Everything below the scores, too: runs, models, collections.")
@click.option(
    "--only", multiple=True, metavar="FINGERPRINT", help="Only this artefact of them, by its first digits."
)
def command(selection, source, inputs, only):
    """Fetch artefacts of the selected cells from another store.

    SRC is a folder, or a URL that fsspec knows (some take a package of their own: https:// takes aiohttp,
    s3:// takes s3fs). An artefact counts once its fingerprint follows from what it says it is and every
    checksum is right; then `repro run` finds it stored. Fingerprints follow from data and checkpoints, too:
    have those that the sender had. Killed anywhere, the same command continues. Documents, queries and
    judgements are held against their collections here, and refused where they differ. That all else is what
    a recipe gives is its giver's word, and is said beside the numbers that rest on it, until `repro store
    verify --deep` or a run has made it again here.
    """
    from repro.cli.printing import show_transfer
    from repro.exchange.artefacts import chosen_nodes, fetch
    from repro.progress import TerminalProgress

    plan, store = selection.plan(), selection.workspace.store
    nodes = chosen_nodes(plan, inputs=inputs, only=only)
    return show_transfer(fetch(plan, nodes, store, source, progress=TerminalProgress()))
