"""``repro readings``"""

from __future__ import annotations

import click


@click.command("readings", epilog="\b\nExamples:\n  repro readings PAPER\n  repro readings PAPER --json")
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One object per reading.")
def command(names, as_json):
    """List what the papers leave open or contradict, with the choices and the default.

    Choose another with `repro run … --reading ID=CHOICE`; its result is never mixed with the default.
    """
    from repro.cli.printing import emit_json, table
    from repro.manifest.papers import paper, papers

    sources = [paper(name) for name in names or papers()]
    if as_json:
        return emit_json(
            [{"of": s.name, **r.model_dump(mode="json")} for s in sources for r in s.readings.values()]
        )
    for source in sources:
        rows = [
            [r.id, r.kind, r.where, r.paper, " | ".join(f"[{c}]" if c == r.default else c for c in r.choices)]
            for r in source.readings.values()
        ]
        table(
            f"{source.name}: {len(rows)} readings (default in brackets)",
            ["id", "kind", "where", "what is open", "choices"],
            rows,
        )
