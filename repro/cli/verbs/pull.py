"""``repro pull``"""

from __future__ import annotations

import click

from repro.cli.options import selecting


@click.command(
    "pull",
    epilog="\b\nExamples:\n  repro pull /mnt/shared/store PAPER --table 1\n"
    "  repro pull https://host/store --cell PAPER/1/ROW/COLUMN --inputs",
)
@click.argument("source", metavar="SRC")
@selecting
@click.option("--inputs", is_flag=True, help="Everything below the scores, too: runs, models, collections.")
def command(selection, source, inputs):
    """Fetch artefacts of the selected cells from another store.

    SRC is a folder, or a URL that fsspec knows (some take a package of their own: https:// takes aiohttp,
    s3:// takes s3fs). An artefact counts once its fingerprint follows from what it says it is and every
    checksum is right; then `repro run` finds it stored. Fingerprints follow from data and checkpoints, too:
    have those that the sender had. Killed anywhere, the same command continues. That numbers are what a
    recipe gives is its giver's word: pull with --inputs and remove the scores to have them computed here.
    """
    from repro.cli.verbs.push import exchange
    from repro.store import make_writable
    from repro.store.remote import RemoteStore
    from repro.store.transfer import pull

    store, origin = selection.workspace.store, RemoteStore(source)
    make_writable(store.root)

    def move(node, progress):
        said = pull(node, store, origin, waiting=lambda: progress.note(f"  {node}: in use, waiting"))
        if said == "fetched":
            store.remember(_below(node))
        return said

    return exchange(selection, inputs, "fetched", move)


def _below(node):
    from repro.graph import walk

    return walk([node])
