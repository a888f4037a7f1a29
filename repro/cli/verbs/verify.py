"""``repro verify``"""

import click

from repro.locations import Locations


@click.command(
    "verify", epilog="\b\nExamples:\n  repro verify\n  repro verify --rebuild\n  repro verify -v --json"
)
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option(
    "--rebuild", is_flag=True, help="Remove damaged artefacts, so that the next run builds them again."
)
@click.option("-v", "--verbose", is_flag=True, help="Name the code and libraries that are others here.")
@click.option("--json", "as_json", is_flag=True, help="One object on standard output.")
def command(store, rebuild, verbose, as_json):
    """Read every artefact of the store and name those that are truncated or altered.

    What other code or other versions of libraries made is counted. An imported run is not removed: nothing
    but `repro import-run` with its file makes it again.
    """
    from repro.cli.printing import emit_json
    from repro.running.provenance import Origins
    from repro.store import Store

    opened, made = Store(Locations.resolve(store).store), Origins()
    total, damaged = _read_all(opened, made)
    removed = _remove(opened, damaged) if rebuild else []
    if as_json:
        unknown = len(made.unknown)
        read = {"artefacts": total, "damaged": damaged, "removed": removed}
        emit_json(read | {"other_code": made.other, "unknown_code": unknown})
    else:
        _print_damage(total, damaged, removed, rebuild)
        _print_origins(made, verbose)
    return 0 if len(removed) == len(damaged) else 2


def _read_all(store, made) -> tuple[int, dict[str, list[str]]]:
    """The number of artefacts, and the faults of the damaged ones; ``made`` looks at those that are sound."""
    from repro.progress import TerminalProgress
    from repro.store import RECORD, damage, read_json

    artefacts = sorted(p for p in store.root.glob("*/*") if len(p.name) == 64)
    damaged = {}
    with TerminalProgress().task("artefacts read", total=len(artefacts)) as advance:
        for path in artefacts:
            name = f"{path.parent.name}/{path.name}"
            if wrong := damage(path):
                damaged[name] = wrong
            else:
                made.add(name, read_json(path / RECORD).get("facts", {}))
            advance()
    return len(artefacts), damaged


def _remove(store, damaged: dict[str, list[str]]) -> list[str]:
    """Remove damaged artefacts; returns those that went, and adds to the faults of others why not."""
    from repro.store.leftovers import remove_damaged

    gone = []
    for name, faults in damaged.items():
        if name.startswith("imported_run/"):
            faults.append("it stays: `repro import-run` with its file makes it again")
        elif remove_damaged(store, store.root / name):
            gone.append(name)
        else:
            faults.append("in use, it stays")
    return gone


def _print_damage(total: int, damaged: dict[str, list[str]], removed: list[str], rebuild: bool) -> None:
    for name, faults in damaged.items():
        print(f"damaged: {_short(name)}: {'; '.join(faults)}")
    outcome = " and removed" if len(removed) == len(damaged) else f", {len(removed)} removed"
    print(f"{total} artefacts read, {len(damaged)} damaged{outcome if rebuild and damaged else ''}")
    if damaged and not rebuild:
        print("run `repro verify --rebuild` to remove them; the next run builds them again")


def _print_origins(made, verbose: bool) -> None:
    for name, others in made.other.items() if verbose else ():
        print(f"other code: {_short(name)}: {', '.join(others)}")
    if made.sentence:
        print(made.sentence)


def _short(name: str) -> str:
    stage, _, fingerprint = name.partition("/")
    return f"{stage}/{fingerprint[:12]}"
