"""``repro verify``"""

import click

from repro.locations import Locations


@click.command("verify", epilog="\b\nExamples:\n  repro verify\n  repro verify --rebuild")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option(
    "--rebuild", is_flag=True, help="Remove damaged artefacts, so that the next run builds them again."
)
def command(store, rebuild):
    """Read every artefact of the store and name those that are truncated or altered.

    An imported run is not removed: nothing but `repro import-run` with its file makes it again.
    """
    from repro.progress import TerminalProgress
    from repro.store import Store, damage
    from repro.store.leftovers import remove_damaged

    opened = Store(Locations.resolve(store).store)
    artefacts = sorted(p for p in opened.root.glob("*/*") if len(p.name) == 64)
    bad = removed = 0
    with TerminalProgress().task("artefacts read", total=len(artefacts)) as advance:
        for path in artefacts:
            wrong = damage(path)
            advance()
            if wrong:
                bad += 1
                gone, stays = _removed(opened, path, remove_damaged) if rebuild else (False, "")
                removed += gone
                print(f"damaged: {path.parent.name}/{path.name[:12]}: {'; '.join(wrong)}{stays}")
    outcome = (" and removed" if removed == bad else f", {removed} removed") if rebuild and bad else ""
    print(f"{len(artefacts)} artefacts read, {bad} damaged{outcome}")
    if bad and not rebuild:
        print("run `repro verify --rebuild` to remove them; the next run builds them again")
    return 0 if removed == bad else 2


def _removed(store, path, remove_damaged) -> tuple[bool, str]:
    """Remove one artefact; returns whether it is gone and, where it stays, the reason."""
    if path.parent.name == "imported_run":
        return False, "; it stays: `repro import-run` with its file makes it again"
    if remove_damaged(store, path):
        return True, ""
    return False, "; in use, it stays"
