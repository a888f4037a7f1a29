"""``repro convert-records``"""

import click

EPILOG = "\b\nExamples:\n  repro convert-records\n  repro convert-records --store DIR --results DIR"


@click.command("convert-records", epilog=EPILOG)
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(store, results):
    """Give records that were made without a measure, a unit and a digest all three, in place.

    Measure and unit are those that the manifests state now. Stored scores of the same fingerprint that give
    the same value prove them; where there are none the record says so, and is not shown as current until
    `repro run` measures its cell again, or this command is given a store that has its scores. Values are
    never touched.
    """
    from repro.running.conversion import convert
    from repro.running.workspace import Workspace

    workspace = Workspace.open(store, results)
    files = list(convert(workspace.results, workspace))
    for file in files:
        print(f"{file.path}: {_outcome(file)}")
        if file.assumed:
            print(f"  not vouched for: measure and unit of {_cells(file.assumed)}")
    if not files:
        print(f"there are no records in {workspace.results.root}")


def _outcome(file) -> str:
    number = len(file.proved) + len(file.assumed)
    if not number:
        return f"{file.lines} records, none to convert"
    return f"{number} of {file.lines} records converted, {len(file.proved)} of them proved by stored scores"


def _cells(records) -> str:
    cells = list(dict.fromkeys(r.cell for r in records))
    return ", ".join(cells[:5]) + (f" and {len(cells) - 5} more cells" if len(cells) > 5 else "")
