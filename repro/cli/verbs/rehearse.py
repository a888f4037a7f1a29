"""``repro rehearse``"""

import sys
from dataclasses import replace

import click

from repro.cli.options import selecting_for_rehearsal


@click.command(
    "rehearse",
    epilog="""\b
Examples:
  repro rehearse PAPER --table 1               on the first rows, before days are spent on all
  repro rehearse PAPER --table 1 --row ROW --json
  repro rehearse PAPER --table 1 --scale-file small-batches.yaml""",
)
@selecting_for_rehearsal
@click.option("--json", "as_json", is_flag=True, help="Everything that was measured and extrapolated.")
def command(selection, as_json):
    """Run the first rows and a few steps of a selection, and tell what the whole will cost.

    Each stage of full scale, or of medium with a scale of yours that is like it, is carried out with its own
    settings, data formats and checkpoints, in a process of its own. A table says what each took and,
    extrapolated by what its cost grows with, hours, memory and disk of the whole. What was measured is kept
    in the store, where `repro plan` takes hours from. Killed anywhere, the same command goes on with the
    stage that it was at, from that stage's beginning.
    """
    from repro.cli.printing import emit_json
    from repro.cli.rehearsals import as_plain, show_rehearsal
    from repro.progress import TerminalProgress
    from repro.running.cost.rehearsals import keep_times
    from repro.running.rehearsal import rehearse
    from repro.store import make_writable

    progress, store = TerminalProgress(), selection.workspace.store
    with progress.task("planning"):
        plan = selection.plan()
        whole_plan = replace(selection, scale=plan.scale.whole, of_user=None).plan()
    make_writable(store.root)
    for note in plan.scale.notes:
        progress.note(note)
    rehearsal = rehearse(whole_plan, plan, store, progress)
    path = keep_times(rehearsal.nodes, store)
    if as_json:
        emit_json(as_plain(rehearsal))
    else:
        show_rehearsal(rehearsal)
        print(f"kept for `repro plan` in {path}", file=sys.stderr)
    return 3 if rehearsal.outcome.failed else 4 if rehearsal.left_out else 0
