"""``repro stage``"""

import signal

import click

from repro.cli.printing import say
from repro.errors import ReproError, StoreError, UsageError
from repro.locations import Locations


@click.command(
    "stage",
    epilog="\b\nExamples:\n  repro --store DIR stage 3f2a… 77b0…\n  repro stage 3f2a… --shard 3/8",
)
@click.argument("fingerprints", metavar="FINGERPRINT...", nargs=-1, required=True)
@click.option("--shard", metavar="I/N", help="Only every N-th block of it, from the I-th on.")
def command(fingerprints, shard):
    """Build artefacts of an earlier plan by their fingerprints (or the first digits), one after another.

    This is the unit of work that engines hand out: inputs must be stored. One that fails holds back no other.
    With - in place of a fingerprint, standard input names one after another, as an engine writes them.

    Shards 1/N to N/N of one artefact run beside one another on machines that share the store, and the last
    to end puts it together. A shard that was killed goes on when it is started again.
    """
    from repro.machine.shard import Shard
    from repro.running.engines.child import end_with_parent, serve
    from repro.store import Store

    part = Shard.parse(shard) if shard else Shard()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the next attempt goes on, so it may end at once
    artefact_store = Store(Locations.resolve().store)
    if fingerprints == ("-",):
        serve(lambda digits: _build_status(artefact_store, digits))
    end_with_parent()
    return max([_build_status(artefact_store, fingerprint, part) for fingerprint in fingerprints])


def _build_status(store, fingerprint: str, *part) -> int:
    try:
        _build(store, fingerprint, *part)
    except (ReproError, OSError) as error:
        say(f"repro: {error}")
        return getattr(error, "exit_status", 2)
    return 0


def _build(store, fingerprint: str, *part) -> None:
    from repro.machine import kernels
    from repro.machine.system import launched_rank
    from repro.progress import IN_A_LOG, TerminalProgress
    from repro.running.engines.inline import run_node
    from repro.store import make_writable
    from repro.store.notes import asks_for_pins

    node = store.remembered(fingerprint)
    if store.state(node) == "damaged":
        raise StoreError(f"artefact {node} is damaged; `repro store verify --rebuild` removes it")
    missing = [f"{p} ({state})" for p in node.parents() if (state := store.state(p)) != "stored"]
    if missing:
        raise UsageError(f"{node} needs {', '.join(missing)}; the store must hold it")
    make_writable(store.root)
    if asks_for_pins(store.root, node.fingerprint):
        kernels.pin()
    path = run_node(node, store, TerminalProgress(interval=IN_A_LOG), *part)
    if launched_rank() == 0:
        print(path or f"shard {part[0]} of {node} is done, others are not")
