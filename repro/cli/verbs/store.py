"""``repro store``: verify the store and its records, and remove unused artefacts."""

import math
import sys
from itertools import product

import click

from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import json_option, scale_option
from repro.cli.printing import put, say
from repro.errors import UsageError
from repro.locations import Locations

command = views(
    "store",
    {
        "verify": "read every artefact and record, name the damaged ones, compute some again",
        "gc": "what in the store no manifest needs; --yes removes it",
    },
    title="things to do",
    help="""Look after the store of artefacts and the records.""",
    epilog="""\b
Examples:
  repro store verify --deep
  repro store gc --yes""",
)


@command.command(
    "verify",
    epilog="""\b
Examples:
  repro store verify
  repro store verify --rebuild
  repro store verify -v --format json
  repro store verify --deep 5 --seed 7""",
)
@click.option(
    "--rebuild", is_flag=True, help="Remove damaged artefacts; the next run that needs one builds it again."
)
@click.option(
    "--deep",
    "sample",
    is_flag=False,
    flag_value=2,
    type=click.IntRange(min=1),
    metavar="[N]",
    help="Compute N artefacts of each stage, two without a number, again from their inputs, and compare.",
)
@click.option("--seed", default=0, show_default=True, metavar="S", help="Draws the sample, with --deep.")
@click.option("-v", "--verbose", is_flag=True, help="Name the code and libraries that are others here.")
@json_option
def verify(rebuild, sample, seed, verbose, as_json):
    """Read every artefact of the store and every record, and name those that are truncated or altered.

    What other code or other versions of libraries made is counted. An imported run is not removed: nothing
    but `repro import run` with its file makes it again. Neither is a record: a copy of its file restores it.
    Doubtful is a record that a newer one of equal fingerprint contradicts, and one of a time still to come.

    With --deep, evaluations, searches, minings, encodings and whatever else is neither a training nor read
    from outside are computed again, into a scratch folder; documents, queries and judgements are read again
    where their collection is embedded or here. Exit status 1: something does not agree with what is stored;
    2: something is damaged, and nothing was computed; 3: a stage failed; 4: one lacks something.
    """
    from repro.cli.printing import emit_json
    from repro.running.provenance import Origins
    from repro.store import Store
    from repro.store.results import Results

    places = Locations.resolve()
    artefact_store, origins = Store(places.store), Origins()
    results = Results(places.results, places.release)
    (records, faults), unfinished = results.checked(), results.unfinished()
    doubtful = results.doubtful()
    total, damages = _read_all(artefact_store, origins)
    if click.get_current_context().find_root().params.get("store") and not places.store.is_dir():
        raise UsageError(f"there is no folder {places.store} to verify; name another with --store")
    removals = _remove_damaged(artefact_store, damages) if rebuild else []
    values = {"artefacts": total, "damaged": damages, "removed": removals}
    values |= {"records": records, "damaged_records": list(map(str, faults))}
    values |= {"unfinished_records": list(map(str, unfinished))}
    values |= {"doubtful_records": list(map(str, doubtful))}
    values |= {"other_code": origins.other, "unknown_code": len(origins.unknown)}
    if not as_json:
        _print_damage(total, damages, removals, rebuild)
        _print_records(records, faults, unfinished, doubtful)
        _print_origins(origins, verbose)
    status = 0 if len(removals) == len(damages) and not faults else 2
    if sample and not status:
        status, values["recomputed"] = _recompute_sample(artefact_store, places, sample, seed, as_json)
    if as_json:
        emit_json(values)
    return status


def _recompute_sample(store, places, size: int, seed: int, quiet: bool) -> tuple[int, dict]:
    """Recompute a sample. Returns the exit status and the object for ``--format json``."""
    from repro.progress import TerminalProgress
    from repro.running.recomputation import draw, recompute

    sample = draw(store, size=size, seed=seed, data=places.data, home=places.home)
    reruns = list(recompute(sample, store, TerminalProgress()))
    if not quiet:
        _print_reruns(sample, reruns, seed)
    results = {item.agreement for item in reruns}
    statuses = {"none": 1, "failed": 3, "blocked": 4}
    status = next((number for name, number in statuses.items() if name in results), 0)
    values = {"seed": seed, "sample": size, "of": sample.of, "left_out": sample.left_out}
    return status, values | {"artefacts": [item.as_json() for item in reruns]}


AGREEMENTS = {"bits": "agree to the bit", "tolerance": "agree to the tolerance", "none": "do not agree"}


def _print_reruns(sample, reruns, seed: int) -> None:
    """Print one line per stage, one per differing artefact, and the counts."""
    from repro.cli.printing import table

    rows = [
        [stage, *_stage_cells([item for item in reruns if item.stage == stage], available)]
        for stage, available in sample.of.items()
    ]
    head = ["stage", "computed again", *AGREEMENTS.values(), "largest difference", "tolerance"]
    title = f"computed again from stored inputs (seed {seed}), differences over a file's greatest magnitude"
    table(title, head, rows, right=range(2, len(head)))
    for item in reruns:
        if item.why:
            word = "DIFFERS" if item.agreement == "none" else item.agreement
            put(f"{word}: {item.stage}/{item.fingerprint[:12]}: {item.why}{_other_code(item)}")
    omissions = ", ".join(f"{number} {stage}" for stage, number in sample.left_out.items())
    print(f"{len(reruns)} artefacts computed again: {_counts(reruns)}; left out: {omissions or 'none'}")


def _stage_cells(reruns, available: int) -> list[str]:
    counts = [str(sum(item.agreement == name for item in reruns) or "") for name in AGREEMENTS]
    largest = max((item.difference or 0.0 for item in reruns), default=0.0)
    tolerance = f"{reruns[0].tolerance:g}" if reruns[0].tolerance else "every bit"
    return [f"{len(reruns)} of {available}", *counts, f"{largest:.2g}", tolerance]


def _counts(reruns) -> str:
    bits, near, none = (sum(item.agreement == name for item in reruns) for name in AGREEMENTS)
    counts = f"{bits} agree to the bit, {near} to the tolerance, {none} not"
    missing = len(reruns) - bits - near - none
    return f"{counts}, {missing} without a result" if missing else counts


def _other_code(item) -> str:
    if item.other_code is None:
        return "; made by unknown code"
    return f"; made by other code ({', '.join(item.other_code)})" if item.other_code else ""


def _read_all(store, origins) -> tuple[int, dict[str, list[str]]]:
    """Return the number of artefacts and the faults of damaged ones. Sound ones are added to ``origins``."""
    from repro.progress import TerminalProgress
    from repro.store import RECORD
    from repro.store.seal import content, damage, read_json, wrong_sizes

    artefacts = sorted(p for p in store.root.glob("*/*") if len(p.name) == 64)
    damages, places = {}, {path.name: path for path in artefacts}
    with TerminalProgress().task("artefacts read", total=len(artefacts)) as advance:
        for path in artefacts:
            name = f"{path.parent.name}/{path.name}"
            if faults := damage(path):
                damages[name] = faults
            else:
                facts = read_json(path / RECORD).get("facts", {})
                inputs = (places[key] for key in facts.get("inputs", ()) if key in places)
                origins.add(name, facts, {p.name: content(p) for p in inputs if not wrong_sizes(p)})
            advance()
    return len(artefacts), damages


def _remove_damaged(store, damages: dict[str, list[str]]) -> list[str]:
    from repro.store.leftovers import remove_damaged

    names = []
    for name, faults in damages.items():
        if name.startswith("imported_run/"):
            faults.append("it stays: `repro import run` with its file makes it again")
        elif remove_damaged(store, store.root / name):
            names.append(name)
        else:
            faults.append("in use, it stays")
    return names


def _print_damage(total: int, damages: dict[str, list[str]], removals: list[str], rebuild: bool) -> None:
    for name, faults in damages.items():
        put(f"damaged: {_short(name)}: {'; '.join(faults)}")
    outcome = " and removed" if len(removals) == len(damages) else f", {len(removals)} removed"
    print(f"{total} artefacts read, {len(damages)} damaged{outcome if rebuild and damages else ''}")
    if damages and not rebuild:
        say("run `repro store verify --rebuild` to remove them; the next run that needs one builds it again")


def _print_records(records: int, faults: list, unfinished: list, doubtful: list) -> None:
    for word, lines in {"damaged": faults, "doubtful": doubtful}.items():
        for line in lines:
            put(f"{word}: {line}")
    for path in unfinished:
        put(f"unfinished: {path}: its last line has no end, as where a process was killed or a copy cut off;")
        print("  it counts as nothing: restore it from a copy, or measure its cell again")
    if records:
        doubts = f", {len(doubtful)} doubtful" if doubtful else ""
        print(f"{records} records read, {len(faults)} damaged{doubts}")


def _print_origins(origins, verbose: bool) -> None:
    for name, differences in origins.other.items() if verbose else ():
        put(f"other code: {_short(name)}: {', '.join(differences)}")
    if origins.sentence:
        put(origins.sentence)


def _short(name: str) -> str:
    stage, _, fingerprint = name.partition("/")
    return f"{stage}/{fingerprint[:12]}"


@command.command(
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
def gc(names, scales_, keep_days, finished, yes):
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
    from repro.progress import TerminalProgress
    from repro.running.workspace import Workspace
    from repro.store.leftovers import any_old, leftovers

    if not math.isfinite(keep_days):
        raise UsageError(f"--keep-days is {keep_days}; give a number of days, 0 or more")
    workspace, progress = Workspace.open(), TerminalProgress()
    some_may_go = finished or any_old(workspace.store, keep_days=keep_days)
    needs = _needs(names, scales_, workspace, progress, some_may_go=some_may_go)
    for notice in needs.notices:
        say(notice)
    if not some_may_go:
        _print_sum([], yes=yes)
        return
    with progress.task("what nothing needs"):
        items = leftovers(workspace.store, needs.fingerprints, keep_days=keep_days)
    _tell_of_trainings(items)
    removals = _remove(workspace.store, items) if yes else set(items)
    removable = [item for item in items if _print_item(item, item in removals)]
    if finished:
        removable += _finished_items(needs.plans, workspace.store, keep_days=keep_days, yes=yes)
    _print_sum(removable, yes=yes)


def _needs(names, scales_, workspace, progress, *, some_may_go: bool):
    from repro.manifest.papers import sources as sources_named
    from repro.running.discarding import kept_artefacts
    from repro.running.scale import known_scales, scale

    sources = sources_named(names)
    extras = () if scales_ else workspace.results.scales("records") - known_scales().keys()
    scales = [scale(name) for name in scales_ or known_scales()]
    for source, kept_scale in () if some_may_go else product(sources, scales):
        workspace.results.read(kept_scale.name, source.name)
    return kept_artefacts(sources, scales if some_may_go else [], workspace, progress, undescribed=extras)


def _print_sum(removable, *, yes: bool) -> None:
    size = sum(item.bytes for item in removable)
    print(f"{len(removable)} {'removed' if yes else 'could go'}, {size:,} bytes")
    if removable and not yes:
        print("add --yes to remove them")


def _remove(store, items) -> set:
    """Remove items except those that a process, possibly a new one, is going to read."""
    from repro.store.leftovers import remove_leftovers
    from repro.store.underway import awaited_inputs, one_at_a_time

    if not items:
        return set()
    with one_at_a_time(store.root):
        inputs = awaited_inputs(store.root)
        return remove_leftovers(store, [item for item in items if item.fingerprint not in inputs])


def _tell_of_trainings(items) -> None:
    from repro.stage_table import TRAININGS

    number = sum(item.kind == "artefact" and item.stage in TRAININGS for item in items)
    if number:
        words = f"{number} training{'s' * (number != 1)} that no scale described here needs"
        print(f"{words}; name the file of a scale of your own with --scale to keep its", file=sys.stderr)


def _finished_items(plans, store, *, keep_days: float, yes: bool) -> list:
    """Return the vectors of finished rows that were or could be removed, and print a line for each."""
    from repro.running.discarding import finished_vectors
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
    """Print a line about an item and return ``is_gone``."""
    name = f"{item.path.parent.name}/{item.path.name.replace(item.fingerprint, item.fingerprint[:12])}"
    put(f"{item.kind}: {name}, {item.bytes:,} bytes{'' if is_gone else '; in use, stays'}")
    return is_gone
