"""``repro store verify``"""

import click

from repro.cli.options import json_option
from repro.errors import UsageError
from repro.locations import Locations


@click.command(
    "verify",
    epilog="""\b
Examples:
  repro store verify
  repro store verify --rebuild
  repro store verify -v --format json
  repro store verify --deep 5 --seed 7""",
)
@click.option(
    "--rebuild", is_flag=True, help="Remove damaged artefacts, so that the next run builds them again."
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
def command(rebuild, sample, seed, verbose, as_json):
    """Read every artefact of the store and every record, and name those that are truncated or altered.

    What other code or other versions of libraries made is counted. An imported run is not removed: nothing
    but `repro import run` with its file makes it again. Neither is a record: a copy of its file restores it.
    Doubtful is a record that a newer one of equal fingerprint contradicts, and one of a time still to come.

    With --deep, evaluations, searches, minings, encodings and whatever else is neither a training nor read
    from outside are computed again, into a scratch folder; documents, queries and judgements are read again
    where their collection is embedded or here. What came from another store comes first, and counts as
    checked once it agrees. Exit status 1: something does not agree with what is stored; 2: something is
    damaged, and nothing was computed; 3: a stage failed; 4: one lacks something.
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
    removals = _remove(artefact_store, damages) if rebuild else []
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
    """Compute a sample again; returns the exit status and the object of ```--format json```."""
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
    """Print a line for every stage, one for each artefact that came out otherwise, and the counts."""
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
            print(f"{_word(item)}: {item.stage}/{item.fingerprint[:12]}: {item.why}{_other_code(item)}")
    omissions = ", ".join(f"{number} {stage}" for stage, number in sample.left_out.items())
    print(f"{len(reruns)} artefacts computed again: {_counts(reruns)}; left out: {omissions or 'none'}")


def _stage_cells(reruns, available: int) -> list[str]:
    """The cells of a line of the table, behind the name of the stage."""
    counts = [str(sum(item.agreement == name for item in reruns) or "") for name in AGREEMENTS]
    largest = max((item.difference or 0.0 for item in reruns), default=0.0)
    tolerance = f"{reruns[0].tolerance:g}" if reruns[0].tolerance else "every bit"
    return [f"{len(reruns)} of {available}", *counts, f"{largest:.2g}", tolerance]


def _counts(reruns) -> str:
    bits, near, none = (sum(item.agreement == name for item in reruns) for name in AGREEMENTS)
    counts = f"{bits} agree to the bit, {near} to the tolerance, {none} not"
    missing = len(reruns) - bits - near - none
    return f"{counts}, {missing} without a result" if missing else counts


def _word(item) -> str:
    return {"none": "DIFFERS", "failed": "failed", "blocked": "blocked"}[item.agreement]


def _other_code(item) -> str:
    if item.other_code is None:
        return "; made by unknown code"
    return f"; made by other code ({', '.join(item.other_code)})" if item.other_code else ""


def _read_all(store, origins) -> tuple[int, dict[str, list[str]]]:
    """The number of artefacts, and the faults of the damaged ones; ``made`` looks at those that are sound."""
    from repro.progress import TerminalProgress
    from repro.store import RECORD, damage, read_json
    from repro.store.seal import content, wrong_sizes

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


def _remove(store, damages: dict[str, list[str]]) -> list[str]:
    """Remove damaged artefacts; returns those that went, and adds to the faults of others why not."""
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
    from repro.cli.printing import say

    for name, faults in damages.items():
        print(f"damaged: {_short(name)}: {'; '.join(faults)}")
    outcome = " and removed" if len(removals) == len(damages) else f", {len(removals)} removed"
    print(f"{total} artefacts read, {len(damages)} damaged{outcome if rebuild and damages else ''}")
    if damages and not rebuild:
        say("run `repro store verify --rebuild` to remove them; the next run builds them again")


def _print_records(records: int, faults: list, unfinished: list, doubtful: list) -> None:
    for word, lines in {"damaged": faults, "doubtful": doubtful}.items():
        for line in lines:
            print(f"{word}: {line}")
    for path in unfinished:
        print(
            f"unfinished: {path}: its last line has no end, as where a process was killed or a copy cut off;"
        )
        print("  it counts as nothing: restore it from a copy, or measure its cell again")
    if records:
        doubts = f", {len(doubtful)} doubtful" if doubtful else ""
        print(f"{records} records read, {len(faults)} damaged{doubts}")


def _print_origins(origins, verbose: bool) -> None:
    for name, differences in origins.other.items() if verbose else ():
        print(f"other code: {_short(name)}: {', '.join(differences)}")
    if origins.sentence:
        print(origins.sentence)


def _short(name: str) -> str:
    stage, _, fingerprint = name.partition("/")
    return f"{stage}/{fingerprint[:12]}"
