"""``repro readings``"""

import click


@click.command("readings", epilog="\b\nExamples:\n  repro readings PAPER\n  repro readings PAPER --json")
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One object per reading.")
def command(names, as_json):
    """List what the papers leave open or contradict, with the choices and the default.

    Choose another with `repro run … --reading ID=CHOICE`; its result is never mixed with the default.
    """
    from repro.cli.printing import emit_json, table
    from repro.locations import Locations
    from repro.manifest.papers import paper, papers
    from repro.running.cell_readings import CellReadings

    known = CellReadings(Locations.resolve().data)
    places = {source: known.places(source) for source in map(paper, names or papers())}
    if as_json:
        return emit_json([item for source, readings in places.items() for item in _records(source, readings)])
    head = ["id", "kind", "where", "what is open", "choices"]
    for source, readings in places.items():
        rows = [[r.id, r.kind, r.where, r.paper, _choices(r)] for r in map(source.readings.get, readings)]
        table(f"{source.name}: {len(rows)} readings (default in brackets)", head, rows)


def _records(source, readings):
    for name, cells in readings.items():
        reading = source.readings[name].model_dump(mode="json", exclude={"cells"})
        yield {"of": source.name, **reading, "affects": cells}


def _choices(reading) -> str:
    return " | ".join(f"[{choice}]" if choice == reading.default else choice for choice in reading.choices)
