"""``repro gc``"""

from __future__ import annotations

import sys

import click

from repro.errors import ReproError, UsageError
from repro.settings import settings


@click.command("gc", epilog="\b\nExamples:\n  repro gc\n  repro gc --yes\n  repro gc PAPER --scale tiny")
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Keep what any paper needs; so it is without names.")
@click.option("--scale", "scales_", metavar="SCALE", multiple=True,
              help="Keep what is needed at this scale; may be repeated. Without it, at any.")  # fmt: skip
@click.option("--keep-days", type=click.FloatRange(0), default=14, show_default=True,
              help="Nothing younger than that goes.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would go; so it is without --yes.")
@click.option("--yes", is_flag=True, help="Remove it.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, everything, scales_, keep_days, dry_run, yes, store, results):
    """Say what of the store nothing needs, and remove it with --yes.

    Kept is what a manifest's cells need (of the named papers and scales; of all without names), with the
    readings' defaults and the data at hand, and what lies behind a record of those: other seeds, other
    readings, tests between kept runs. Interrupted attempts, locks and notes go by their age. What a running
    process builds, or reads for it, stays.
    """
    from repro.store import Store
    from repro.store.leftovers import leftovers, remove_leftover

    if yes and dry_run:
        raise UsageError("--yes removes and --dry-run does not; give one of them")
    if names and everything:
        raise UsageError("give papers or --all, not both")
    places = settings(store, results)
    opened = Store(places.store)
    found = leftovers(opened, _needed(names, scales_, places, opened), keep_days=keep_days)
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
    from repro.papers import paper, papers
    from repro.results import Results
    from repro.scale import scale, scales

    for name in names:
        paper(name)
    kept = []
    for name in names or papers():
        for size in map(scale, chosen or scales()):
            kept += _planned(places, name, size)
            for seed, readings, cells in _departing(Results(places.results).read(size.name, name)):
                try:
                    seeds = () if seed is None else (seed,)
                    kept += _planned(places, name, size, cells=cells, seeds=seeds, overrides=dict(readings))
                except UsageError as error:  # a cell or choice that the manifest no longer has
                    print(f"records of {name} at {size.name} are not counted: {error}", file=sys.stderr)
    fingerprints = {node.fingerprint for node in kept}
    return fingerprints | set(_tests(store, fingerprints))


def _planned(places, name, size, *, cells=(), seeds=(), overrides=None):
    from repro.manifest.cells import exhibits, numeric_cells, select
    from repro.papers import paper
    from repro.plan import plan

    found = select((), tables=(), rows=(), cells=cells) if cells else list(numeric_cells(paper(name)))
    return plan(
        found, scale=size, data=places.data, seeds=seeds, overrides=overrides,
        digests=places.store / "digests.json" if places.store.is_dir() else None,
        exhibits=() if cells else exhibits((name,), ()),
    ).nodes  # fmt: skip


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
