"""``repro doctor``"""

import click

from repro.locations import Locations


@click.command("doctor", epilog="\b\nExamples:\n  repro doctor\n  REPRO_DATA=/data repro doctor --json")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--json", "as_json", is_flag=True, help="One object per component.")
def command(store, as_json):
    """Say in one screen what this machine can run, and what to do about the rest."""
    from dataclasses import asdict

    from repro.cli.printing import emit_json, table
    from repro.machine.components import survey

    folders = Locations.resolve(store)
    components = survey(folders.store, folders.data)
    missing = [c.name for c in components if c.state == "missing"]
    if as_json:
        emit_json([asdict(component) for component in components])
    else:
        rows = [[c.state, c.name, c.detail, c.remedy or ""] for c in components]
        table("this machine", ["", "component", "what there is", "what to do"], rows)
        print(f"missing: {', '.join(missing)}" if missing else "nothing is missing")
    return 4 if missing else 0
