"""``repro push``"""

from __future__ import annotations

import click

from repro.cli.options import selecting


@click.command(
    "push",
    epilog="\b\nExamples:\n  repro push /mnt/shared/store PAPER --table 1\n"
    "  repro push s3://bucket/store --cell PAPER/1/ROW/COLUMN --inputs",
)
@click.argument("destination", metavar="DEST")
@selecting
@click.option("--inputs", is_flag=True, help="Everything below the scores, too: runs, models, collections.")
def command(selection, destination, inputs):
    """Send stored artefacts of the selected cells to another store.

    DEST is a folder, or a URL that fsspec knows (some take a package of their own, as s3:// takes s3fs).
    Everything sent is read back and compared. What is there is not sent again; killed anywhere, the same
    command continues.
    """
    from repro.store.remote import RemoteStore
    from repro.store.transfer import push

    store, target = selection.workspace.store, RemoteStore(destination)
    return exchange(selection, inputs, "sent", lambda node, progress: push(node, store, target))


def exchange(selection, inputs: bool, done: str, move) -> int:
    """Move the selection's artefacts one by one and count what became of them; status 4 if none was there."""
    from repro.graph import walk
    from repro.progress import TerminalProgress

    plan, progress = selection.plan(), TerminalProgress()
    ends = [part for m in plan.measurements for part in m.parts] + list(plan.exhibits.values())
    ends = {node.fingerprint: node for node in ends}
    nodes = walk(ends.values()) if inputs else list(ends.values())
    count = dict.fromkeys((done, "already there", "absent"), 0)
    with progress.task(f"artefacts {done}", total=len(nodes)) as advance:
        for node in nodes:
            count[move(node, progress)] += 1
            advance()
    if count["absent"]:
        _tell_of_sources(plan)
    print(f"{len(nodes)} artefacts: " + ", ".join(f"{number} {what}" for what, number in count.items()))
    return 4 if nodes and count["absent"] == len(nodes) else 0


def _tell_of_sources(plan) -> None:
    """Name what is not at hand: fingerprints of all that is made of it would be others."""
    import sys

    missing = [o for o in plan.machine.obstacles.values() if not o.of_machine]
    if missing:
        print(
            "fingerprints follow from data and checkpoints; what is absent may be there under others, as "
            "these are not here:",
            file=sys.stderr,
        )
    for obstacle in dict.fromkeys(missing):
        print(f"  {obstacle.cause}; {obstacle.remedy}", file=sys.stderr)
