"""``repro stage``, e.g. ``repro stage 3f2a… --shard 3/8``."""

import signal

import click

from repro import errors, locations
from repro.cli.printing import say
from repro.machine import kernels


@click.command(
    "stage", epilog="\b\nExamples:\n  repro --store DIR stage 3f2a… 77b0…\n  repro stage 3f2a… --shard 3/8"
)
@click.argument("fingerprints", metavar="FINGERPRINT...", nargs=-1, required=True)
@click.option("--shard", metavar="I/N", help="Only every N-th block, beginning with the I-th, e.g. 3/8.")
def command(fingerprints, shard):
    """Build artefacts of an earlier plan, named by the first digits of their fingerprints. Engines call this.

    The inputs must be stored. The argument - reads fingerprints from standard input. Shards 1/N to N/N of an
    artefact can run in parallel on machines that share the store. The last one merges them.
    """
    from repro.machine.shard import Shard
    from repro.running.engines.child import end_with_parent, serve
    from repro.store import Store

    part = Shard.parse(shard) if shard else Shard()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the next attempt continues
    store = Store(locations.Locations.resolve().store)
    if fingerprints == ("-",):
        serve(lambda digits: _build_status(store, digits))
    end_with_parent()
    return max([_build_status(store, fingerprint, part) for fingerprint in fingerprints])


def _build_status(store, fingerprint: str, *part) -> int:
    try:
        _build(store, fingerprint, *part)
    except (errors.ReproError, OSError) as error:
        say(f"repro: {error}")
        return getattr(error, "exit_status", 2)
    return 0


def _build(store, fingerprint: str, *part) -> None:
    from repro.machine.system import launched_rank
    from repro.progress import IN_A_LOG, TerminalProgress
    from repro.running.engines.inline import run_node
    from repro.store import make_writable
    from repro.store.notes import is_planned_with_pins

    node = store.remembered(fingerprint)
    if store.state(node) == "damaged":
        raise errors.StoreError(f"artefact {node} is damaged. `repro store verify --rebuild` removes it.")
    missing = [f"{p} ({state})" for p in node.parents() if (state := store.state(p)) != "stored"]
    if missing:
        raise errors.UsageError(f"{node} needs {', '.join(missing)} in the store")
    make_writable(store.root)
    if is_planned_with_pins(store.root, node.fingerprint):
        kernels.pin()
    path = run_node(node, store, TerminalProgress(interval=IN_A_LOG), *part)
    if launched_rank() == 0:
        print(path or f"shard {part[0]} of {node} is done, other shards are not")
