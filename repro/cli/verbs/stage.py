"""``repro stage``"""

import signal

import click

from repro.errors import StoreError, UsageError
from repro.locations import Locations


@click.command("stage", epilog="\b\nExamples:\n  repro stage 3f2a… --store DIR")
@click.argument("fingerprint")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
def command(fingerprint, store):
    """Build one artefact of an earlier plan by its fingerprint (or its first digits).

    This is the unit of work that engines hand out: its inputs must be stored.
    """
    from repro.machine.system import launched_rank
    from repro.progress import TerminalProgress
    from repro.running.engines.child import end_with_parent
    from repro.running.engines.inline import run_node
    from repro.store import Store, make_writable

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the next attempt goes on, so it may end at once
    end_with_parent()
    opened = Store(Locations.resolve(store).store)
    node = opened.remembered(fingerprint)
    if opened.state(node) == "damaged":
        raise StoreError(f"artefact {node} is damaged; `repro verify --rebuild` removes it")
    absent = [f"{p} ({state})" for p in node.parents() if (state := opened.state(p)) != "stored"]
    if absent:
        raise UsageError(f"{node} needs {', '.join(absent)}; the store must hold it")
    make_writable(opened.root)
    path = run_node(node, opened, TerminalProgress())
    if launched_rank() == 0:
        print(path)
