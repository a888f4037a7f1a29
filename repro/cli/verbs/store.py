"""``repro store``, e.g. ``repro store verify --deep``."""

import math
import sys

import click

from repro import errors, locations, stage_table
from repro.cli import groups, options
from repro.cli.printing import emit_json, put, say, table
from repro.manifest.papers import sources as sources_named
from repro.progress import TerminalProgress
from repro.running.discarding import finished_vectors, kept_artefacts
from repro.running.scale import known_scales, scale
from repro.running.workspace import Workspace
from repro.store import RECORD, Store, disk, leftovers, seal, underway
from repro.store.results import Results

command = groups.views(
    "store",
    {
        "verify": "check every artefact and record, optionally recompute a sample",
        "gc": "list or remove unused artefacts",
    },
    help="""Verify artefacts and records, or remove unused ones.""",
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
@click.option("--rebuild", is_flag=True, help="Remove damaged artefacts, so that the next run builds them.")
@click.option(
    "--deep",
    "sample",
    is_flag=False,
    flag_value=2,
    type=click.IntRange(min=1),
    metavar="[N]",
    help="Recompute N artefacts of each stage from their inputs and compare, by default 2.",
)
@click.option("--seed", default=0, show_default=True, metavar="S", help="Seed of the sample of --deep.")
@click.option("-v", "--verbose", is_flag=True, help="Name the code and libraries that differ.")
@options.json_option
def verify(rebuild, sample, seed, verbose, as_json):
    """Read every artefact and record, and name those that are truncated, altered or doubtful.

    A record is doubtful if a newer one of the same fingerprint has another value, or if its date is in the
    future. Records and imported runs are never removed. --deep omits trainings.

    Exit status 1: a recomputed artefact differs. 2: an artefact or record is damaged. 3: a stage failed.
    4: a requirement is missing.
    """
    from repro.running.provenance import Origins

    places = locations.Locations.resolve()
    store, origins = Store(places.store), Origins()
    results = Results(places.results, places.release)
    (records, faults), unfinished = results.checked(), results.unfinished()
    doubtful = results.doubtful()
    total, damages = _read_all(store, origins)
    if click.get_current_context().find_root().params.get("store") and not places.store.is_dir():
        raise errors.UsageError(f"--store {places.store} is not a folder")
    removals = _remove_damaged(store, damages) if rebuild else []
    values = {
        **{"artefacts": total, "damaged": damages, "removed": removals, "records": records},
        "damaged_records": list(map(str, faults)),
        "unfinished_records": list(map(str, unfinished)),
        "doubtful_records": list(map(str, doubtful)),
        **{"other_code": origins.other, "unknown_code": len(origins.unknown)},
    }
    if not as_json:
        _print_damage(total, damages, removals, rebuild)
        _print_records(records, faults, unfinished, doubtful)
        _print_origins(origins, verbose)
    status = 0 if len(removals) == len(damages) and not faults else 2
    if sample and not status:
        status, values["recomputed"] = _recompute_sample(store, places, sample, seed, as_json)
    if as_json:
        emit_json(values)
    return status


def _recompute_sample(store, places, size: int, seed: int, quiet: bool) -> tuple[int, dict]:
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
    rows = []
    for stage, available in sample.of.items():
        of_stage = [item for item in reruns if item.stage == stage]
        rows.append([stage, f"{len(of_stage)} of {available}", *_agreement_cells(of_stage)])
    head = ["stage", "recomputed", *AGREEMENTS.values(), "largest difference", "tolerance"]
    title = f"recomputed from stored inputs (seed {seed}), differences relative to a file's largest magnitude"
    table(title, head, rows, right=range(2, len(head)))
    for item in reruns:
        if item.why:
            word = "DIFFERS" if item.agreement == "none" else item.agreement
            put(f"{word}: {item.stage}/{item.fingerprint[:12]}: {item.why}{_other_code_in_words(item)}")
    omissions = ", ".join(f"{number} {stage}" for stage, number in sample.left_out.items())
    print(f"{len(reruns)} artefacts recomputed: {_counts_in_words(reruns)}. Left out: {omissions or 'none'}.")


def _agreement_cells(reruns) -> list[str]:
    counts = [str(sum(item.agreement == name for item in reruns) or "") for name in AGREEMENTS]
    largest = max((item.difference or 0.0 for item in reruns), default=0.0)
    return [*counts, f"{largest:.2g}", f"{reruns[0].tolerance:g}" if reruns[0].tolerance else "every bit"]


def _counts_in_words(reruns) -> str:
    bits, near, none = (sum(item.agreement == name for item in reruns) for name in AGREEMENTS)
    counts = f"{bits} agree to the bit, {near} to the tolerance, {none} not"
    missing = len(reruns) - bits - near - none
    return f"{counts}, {missing} without a result" if missing else counts


def _other_code_in_words(item) -> str:
    if item.other_code is None:
        return " (made by unknown code)"
    return f" (made by other code: {', '.join(item.other_code)})" if item.other_code else ""


def _read_all(store, origins) -> tuple[int, dict[str, list[str]]]:
    artefacts = sorted(p for p in store.root.glob("*/*") if len(p.name) == 64)
    damages, places = {}, {path.name: path for path in artefacts}
    with TerminalProgress().task("artefacts read", total=len(artefacts)) as advance:
        for path in artefacts:
            name = f"{path.parent.name}/{path.name}"
            if faults := seal.damage(path):
                damages[name] = faults
            else:
                facts = seal.read_json(path / RECORD).get("facts", {})
                inputs = (places[key] for key in facts.get("inputs", ()) if key in places)
                origins.add(name, facts, {p.name: seal.content(p) for p in inputs if not seal.wrong_sizes(p)})
            advance()
    return len(artefacts), damages


def _remove_damaged(store, damages: dict[str, list[str]]) -> list[str]:
    names = []
    for name, faults in damages.items():
        if name.startswith("imported_run/"):
            faults.append("not removed: `repro import run` with its file makes it again")
        elif leftovers.remove_damaged(store, store.root / name):
            names.append(name)
        else:
            faults.append("not removed: in use")
    return names


def _print_damage(total: int, damages: dict[str, list[str]], removals: list[str], rebuild: bool) -> None:
    for name, faults in damages.items():
        put(f"damaged: {_shorten_name(name)}: {'; '.join(faults)}")
    outcome = " and removed" if len(removals) == len(damages) else f", {len(removals)} removed"
    print(f"{total} artefacts read, {len(damages)} damaged{outcome if rebuild and damages else ''}")
    if damages and not rebuild:
        say("`repro store verify --rebuild` removes them. The next run builds them again.")


def _print_records(records: int, faults: list, unfinished: list, doubtful: list) -> None:
    for word, lines in {"damaged": faults, "doubtful": doubtful}.items():
        for line in lines:
            put(f"{word}: {line}")
    for path in unfinished:
        put(f"unfinished: {path}: its last line is incomplete. Restore it or measure its cell again.")
    if records:
        doubts = f", {len(doubtful)} doubtful" if doubtful else ""
        print(f"{records} records read, {len(faults)} damaged{doubts}")


def _print_origins(origins, verbose: bool) -> None:
    for name, differences in origins.other.items() if verbose else ():
        put(f"other code: {_shorten_name(name)}: {', '.join(differences)}")
    if origins.sentence:
        put(origins.sentence)


def _shorten_name(name: str) -> str:
    return name[: -64 + 12]


@command.command(
    "gc",
    epilog="\b\nExamples:\n  repro store gc\n  repro store gc --yes\n  repro store gc PAPER --scale tiny\n"
    "  repro store gc --finished --yes",
)
@options.PAPERS
@options.scale_option(
    "scales_",
    metavar="SCALE",
    multiple=True,
    help="Keep only the artefacts of the named scales, by default of all known scales (repeatable).",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(0),
    default=14,
    show_default=True,
    help="Keep artefacts younger than this.",
)
@click.option("--finished", is_flag=True, help="Also remove vectors of measured cells, of any age.")
@click.option("--yes", is_flag=True, help="Remove the listed artefacts.")
def gc(names, scales_, keep_days, finished, yes):
    """List unused artefacts, and remove them with --yes.

    Artefacts are kept if the cells of the named papers and scales (default: all) need them with default
    readings or those of a record, if they may be made from data that are missing now, if they were made or
    planned within --keep-days, or if a running process builds or reads them. Those of other papers and
    scales are unused. To keep artefacts of your own scale without a record, e.g. trained weights, name its
    file and all other scales. Interrupted attempts, locks and notes are removed by age.
    """
    if not math.isfinite(keep_days):
        raise errors.UsageError(f"--keep-days is {keep_days}, which is not a number of days")
    workspace, progress = Workspace.open(), TerminalProgress()
    if not (finished or leftovers.any_old(workspace.store, keep_days=keep_days)):
        return _print_sum([], yes=yes)
    undescribed = () if scales_ else workspace.results.scales("records") - known_scales().keys()
    scales = [scale(name) for name in scales_ or known_scales()]
    needs = kept_artefacts(sources_named(names), scales, workspace, progress, undescribed=undescribed)
    for notice in needs.notices:
        say(notice)
    with progress.task("unused artefacts"):
        items = leftovers.leftovers(workspace.store, needs.fingerprints, keep_days=keep_days)
    _warn_of_trainings(items)
    removals = _remove(workspace.store, items) if yes else set(items)
    removable = [item for item in items if _print_item(item, item in removals)]
    if finished:
        removable += _finished_items(needs.plans, workspace.store, keep_days=keep_days, yes=yes)
    _print_sum(removable, yes=yes)


def _print_sum(removable, *, yes: bool) -> None:
    size = sum(item.bytes for item in removable)
    print(f"{len(removable)} {'removed' if yes else 'unused'}, {size:,} bytes")
    if removable and not yes:
        print("add --yes to remove them")


def _remove(store, items) -> set:
    if not items:
        return set()
    with underway.one_at_a_time(store.root):
        inputs = underway.awaited_inputs(store.root)
        return leftovers.remove_leftovers(store, [item for item in items if item.fingerprint not in inputs])


def _warn_of_trainings(items) -> None:
    if number := sum(item.kind == "artefact" and item.stage in stage_table.TRAININGS for item in items):
        remedy = "name all scales that you use with --scale, also your FILE"
        print(f"To keep {number} trainings that no selected scale needs, {remedy}.", file=sys.stderr)


def _finished_items(plans, store, *, keep_days: float, yes: bool) -> list:
    items = []
    for node in finished_vectors(plans, store, keep_days=keep_days):
        path = store.root / node.stage / node.fingerprint
        item = leftovers.Leftover("vectors", path, node.stage, node.fingerprint, disk.size_on_disk(path))
        awaited = () if yes else underway.awaited_inputs(store.root)
        is_free = underway.remove_unless_needed(store, node) if yes else node.fingerprint not in awaited
        if _print_item(item, is_free):
            items.append(item)
    return items


def _print_item(item, is_gone: bool) -> bool:
    name = f"{item.path.parent.name}/{item.path.name.replace(item.fingerprint, item.fingerprint[:12])}"
    put(f"{item.kind}: {name}, {item.bytes:,} bytes{'' if is_gone else ' (in use, kept)'}")
    return is_gone
