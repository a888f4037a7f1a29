"""``repro gc``"""

from __future__ import annotations

import functools
import sys

import click

from repro.errors import ReproError, UsageError
from repro.locations import settings


@click.command("gc", epilog="\b\nExamples:\n  repro gc\n  repro gc --yes\n  repro gc PAPER --scale tiny")
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Keep what any paper needs; so it is without names.")
@click.option(
    "--scale",
    "scales_",
    metavar="SCALE",
    multiple=True,
    help="Keep what is needed at this scale; may be repeated. Without it, at any.",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(0),
    default=14,
    show_default=True,
    help="Nothing younger than that goes.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go; so it is without --yes.")
@click.option("--yes", is_flag=True, help="Remove it.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, everything, scales_, keep_days, dry_run, yes, store, results):
    """Say what of the store nothing needs, and remove it with --yes.

    Kept is what a manifest's cells need (of the named papers and scales; of all without names), with the
    readings' defaults and the data at hand, and what lies behind a record of those: other seeds, other
    readings, tests between kept runs. What was made from data or checkpoints that are not at hand now is
    kept where a manifest names them, since its fingerprint cannot be told. Interrupted attempts, locks and
    notes go by their age. What a run asked for within --keep-days, what waits in Slurm's queue, what a
    running process builds, and what these read, stays.
    """
    import math

    from repro.running.engines import slurm_jobs
    from repro.store import Store
    from repro.store.leftovers import leftovers, remove_leftover

    if not math.isfinite(keep_days):
        raise UsageError(f"--keep-days is {keep_days}; give a number of days, 0 or more")
    if yes and dry_run:
        raise UsageError("--yes removes and --dry-run does not; give one of them")
    if names and everything:
        raise UsageError("give papers or --all, not both")
    places = settings(store, results)
    opened = Store(places.store)
    needed = _needed(names, scales_, places, opened) | slurm_jobs.waiting(opened)
    found = leftovers(opened, needed, keep_days=keep_days)
    freed, went = 0, 0
    for item in found:
        gone = not yes or remove_leftover(opened, item)
        freed, went = freed + item.bytes * gone, went + gone
        name = f"{item.path.parent.name}/{item.path.name.replace(item.fingerprint, item.fingerprint[:12])}"
        print(f"{item.kind}: {name}, {item.bytes:,} bytes{'' if gone else '; in use, stays'}")
    print(f"{went} {'removed' if yes else 'could go'}, {freed:,} bytes")
    if found and not yes:
        print("add --yes to remove them")
    return 0


def _needed(names, chosen, places, store):
    """Fingerprints of what the manifests ask for, of what is behind records, of tests between those."""
    from repro.manifest.papers import paper, papers
    from repro.running.scale import scale, scales
    from repro.store.known import Known
    from repro.store.results import Results

    for name in names:
        paper(name)
    plans, recorded, known = [], set(), Known(store.root)
    for name in names or papers():
        for size in map(scale, chosen or scales()):
            plans.append(_planned(places, name, size))
            records = Results(places.results).read(size.name, name)
            recorded |= {record.fingerprint for record in records}
            for seed, readings, cells in _departing(records):
                try:
                    seeds = () if seed is None else (seed,)
                    how = {"cells": cells, "seeds": seeds, "overrides": dict(readings)}
                    plans.append(_planned(places, name, size, **how))
                except UsageError as error:  # a cell or choice that the manifest no longer has
                    print(f"records of {name} at {size.name} are not counted: {error}", file=sys.stderr)
    kept = {node.fingerprint for plan in plans for node in plan.nodes} | known.below(recorded)
    if unknown := _from_absent(store, known, _absent(plans)) - kept:
        print(f"{len(unknown)} artefacts stay: what they were made from is not at hand", file=sys.stderr)
    kept |= unknown
    return kept | set(_tests(store, kept))


def _absent(plans):
    """What is told of the nodes whose data or checkpoint is missing, and with it their fingerprint."""
    return {
        _told(node.stage, node.params)
        for plan in plans
        for node in plan.nodes
        if (obstacle := plan.machine.obstacles.get(node.fingerprint)) and not obstacle.of_machine
    }


def _told(stage, params):
    """A node of a source in words that do not depend on the source's bytes."""
    from repro.graph import canonical
    from repro.stage_table import STAGES

    aside = {"identity", *STAGES[stage].ignored}
    return canonical([stage, {name: value for name, value in params.items() if name not in aside}])


def _from_absent(store, known, absent):
    """Stored artefacts that such a node lies below, with all that lies below them."""
    from repro.stage_table import STAGES

    told = functools.cache(lambda one: (said := known.of(one)) and _told(said["stage"], said["params"]))
    found = set()
    for path in (path for stage in STAGES for path in store.root.glob(f"{stage}/*")) if absent else ():
        below = known.below([path.name])
        if any(told(one) in absent for one in below):
            found |= {one for one in below if known.of(one)}
    return found


def _planned(places, name, size, *, cells=(), seeds=(), overrides=None):
    from repro.manifest.cells import exhibits, numeric_cells, select
    from repro.manifest.papers import paper
    from repro.running.plan import plan

    found = select((), tables=(), rows=(), cells=cells) if cells else list(numeric_cells(paper(name)))
    return plan(
        found,
        scale=size,
        data=places.data,
        seeds=seeds,
        overrides=overrides,
        digests=places.store / "digests.json" if places.store.is_dir() else None,
        exhibits=() if cells else exhibits((name,), ()),
    )


def _departing(records):
    """(seed, readings, cells) of what was measured otherwise than by default; not what was imported."""
    found = {}
    for record in records:
        readings = tuple(sorted((k, v) for k, v in record.readings.items() if k not in record.substitutes))
        if (record.seed is not None or readings) and not record.origin:
            found.setdefault((record.seed, readings), set()).add(record.cell)
    return [(*how, tuple(sorted(cells))) for how, cells in found.items()]


def _tests(store, kept):
    """Comparisons of kept runs, which belong to no plan: only their records say what they compare."""
    from repro.store import RECORD, read_json

    for path in store.root.glob("compare/*"):
        try:
            given = read_json(path / RECORD)["identity"]["inputs"].values()
            inputs = [one for value in given for one in (value if isinstance(value, list) else [value])]
        except (ReproError, LookupError, TypeError, AttributeError):
            continue
        if kept.issuperset(inputs):
            yield path.name
