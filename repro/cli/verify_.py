"""``repro verify``"""

from __future__ import annotations

import click

from repro.settings import settings


@click.command("verify", epilog="\b\nExamples:\n  repro verify\n  repro verify --rebuild")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option(
    "--rebuild", is_flag=True, help="Remove damaged artefacts, so that the next run builds them again."
)
def command(store, rebuild):
    """Read every artefact of the store and name those that are truncated or altered."""
    from repro.progress import TerminalProgress
    from repro.store import Store, damage, remove, translated

    folder = Store(settings(store).store).root
    found = sorted(p for p in folder.glob("*/*") if len(p.name) == 64)
    bad = 0
    with TerminalProgress().task("artefacts read", total=len(found)) as advance:
        for path in found:
            wrong = damage(path)
            advance()
            if wrong:
                bad += 1
                print(f"damaged: {path.parent.name}/{path.name[:12]}: {'; '.join(wrong)}")
                if rebuild:
                    with translated(folder):
                        remove(path)
    print(f"{len(found)} artefacts read, {bad} damaged{' and removed' if bad and rebuild else ''}")
    if bad and not rebuild:
        print("run `repro verify --rebuild` to remove them; the next run builds them again")
    return 0 if rebuild or not bad else 2
