"""``repro store gc``"""

import math
import sys
from itertools import product

import click

from repro.cli import completion
from repro.cli.options import scale_option
from repro.errors import UsageError


@click.command(
    "gc",
    epilog="\b\nExamples:\n  repro store gc\n  repro store gc --yes\n  repro store gc PAPER --scale tiny\n"
    "  repro store gc --finished --yes",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@scale_option(
    "scales_",
    metavar="SCALE",
    multiple=True,
    help="Keep what is needed at this scale; may be repeated. Without it, at any of the suite's.",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(0),
    default=14,
    show_default=True,
    help="Nothing younger than that goes.",
)
@click.option(
    "--finished", is_flag=True, help="Also vectors, of any age, that no cell is still to be measured with."
)
@click.option("--yes", is_flag=True, help="Remove it.")
def command(names, scales_, keep_days, finished, yes):
    """Say what of the store nothing needs, and remove it with --yes.

    Kept is what a manifest's cells need (of the named papers and scales; of all without names), with the
    defaults of unspecified choices and the data at hand, and what lies behind a record of those: other
    seeds, other choices, tests between kept runs. Of a scale of your own whose file is not given, only
    what lies behind its records is kept: what has no record yet, trained weights too, goes by its age.

    What was made from data or checkpoints that are not at hand now is kept where a manifest names them,
    since its fingerprint cannot be told. Interrupted attempts, locks and notes go by their age. What a run
    or `plan --remember` asked for within --keep-days, what a running process builds, what there is of these,
    and what they read, stays.

    With --finished go the vectors of rows that are measured; they are made again when something asks for
    them.
    """
    from repro.manifest.papers import paper, papers
    from repro.progress import TerminalProgress
    from repro.running.kept_artefacts import kept_artefacts
    from repro.running.scale import known_scales, scale
    from repro.running.workspace import Workspace
    from repro.store.leftovers import any_old, leftovers

    if not math.isfinite(keep_days):
        raise UsageError(f"--keep-days is {keep_days}; give a number of days, 0 or more")
    workspace = Workspace.open()
    sources = [paper(name) for name in names] or list(papers().values())
    progress = TerminalProgress()
    extras = () if scales_ else workspace.results.scales("records") - known_scales().keys()
    scales = [scale(name) for name in scales_ or known_scales()]
    some_may_go = finished or any_old(workspace.store, keep_days=keep_days)
    for source, kept_scale in () if some_may_go else product(sources, scales):
        workspace.results.read(kept_scale.name, source.name)  # a fault in a record is told whatever goes
    needs = kept_artefacts(sources, scales if some_may_go else [], workspace, progress, undescribed=extras)
    for notice in needs.notices:
        print(notice, file=sys.stderr)
    if not some_may_go:
        print("0 removed, 0 bytes" if yes else "0 could go, 0 bytes")
        return 0
    with progress.task("what nothing needs"):
        items = leftovers(workspace.store, needs.fingerprints, keep_days=keep_days)
    _tell_of_trainings(items)
    removals = _remove(workspace.store, items) if yes else set(items)
    removable = [item for item in items if _print_item(item, item in removals)]
    if finished:
        vectors = _finished_items(needs.plans, workspace.store, keep_days=keep_days, yes=yes)
        items, removable = items + vectors, removable + vectors
    size = sum(item.bytes for item in removable)
    print(f"{len(removable)} {'removed' if yes else 'could go'}, {size:,} bytes")
    if items and not yes:
        print("add --yes to remove them")
    return 0


def _remove(store, items) -> set:
    """Remove items, but those that a process, which may have begun since they were listed, is to read."""
    from repro.store.leftovers import remove_leftovers
    from repro.store.underway import awaited_inputs, one_at_a_time

    if not items:
        return set()
    with one_at_a_time(store.root):
        inputs = awaited_inputs(store.root)
        return remove_leftovers(store, [item for item in items if item.fingerprint not in inputs])


def _tell_of_trainings(items) -> None:
    """Say on standard error how many trainings go, which may be of a scale that nobody described."""
    from repro.stage_table import TRAININGS

    number = sum(item.kind == "artefact" and item.stage in TRAININGS for item in items)
    if number:
        words = f"{number} training{'s' * (number != 1)} that no scale described here needs"
        print(f"{words}; name the file of a scale of your own with --scale to keep its", file=sys.stderr)


def _finished_items(plans, store, *, keep_days: float, yes: bool) -> list:
    """The vectors of finished rows that went, or that could go, each with a line about it."""
    from repro.running.kept_artefacts import finished_vectors
    from repro.store import underway
    from repro.store.disk import size_on_disk
    from repro.store.leftovers import Leftover

    items = []
    for node in finished_vectors(plans, store, keep_days=keep_days):
        path = store.root / node.stage / node.fingerprint
        item = Leftover("vectors", path, node.stage, node.fingerprint, size_on_disk(path))
        if yes:
            is_free = underway.let_go(store, node)
        else:
            is_free = node.fingerprint not in underway.awaited_inputs(store.root)
        if _print_item(item, is_free):
            items.append(item)
    return items


def _print_item(item, is_gone: bool) -> bool:
    """Print a line about an item; returns ``gone``."""
    name = f"{item.path.parent.name}/{item.path.name.replace(item.fingerprint, item.fingerprint[:12])}"
    print(f"{item.kind}: {name}, {item.bytes:,} bytes{'' if is_gone else '; in use, stays'}")
    return is_gone
