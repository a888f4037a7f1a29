"""``repro doctor``"""

import click

from repro.cli.options import json_option


@click.command("machine")
@json_option
def command(as_json):
    """Say in one screen what this machine can run, and what to do about the rest.

    Below the components, all that the papers need at full scale and that is not here.
    """
    from dataclasses import asdict

    from repro.cli.printing import emit_json, say, table
    from repro.machine.components import survey
    from repro.running.workspace import Workspace

    workspace = Workspace.open()
    full_scale = _full_scale(workspace)
    components = survey(workspace.locations.store, workspace.data)
    missing = [c.name for c in components if c.state == "missing"]
    if as_json:
        emit_json([asdict(component) for component in (*components, full_scale)])
    else:
        rows = [[c.state, c.name, c.detail, c.remedy] for c in components]
        table("this machine", ["", "component", "what there is", "what to do"], rows)
        say("; ".join(filter(None, [f"full scale {full_scale.detail}", full_scale.remedy])))
        summary = f"missing: {', '.join(missing)}" if missing else "nothing is missing for scale tiny"
        say(f"{summary}; full scale {'needs more, as said above' if full_scale.remedy else 'too'}")
    return 4 if missing else 0


def _full_scale(workspace):
    """A component on what the papers at hand need at full scale; what is stored needs nothing."""
    from repro.api.selection import select
    from repro.machine.components import Component
    from repro.retrieval.datasets.fetching import amount

    plan = select(workspace=workspace).plan()
    plan.look(workspace.store)
    obstacles = plan.lacking
    parts = [o.short for o in obstacles.of_machine]
    parts += [amount(obstacles.fetch)] if obstacles.fetch else []
    parts += [_manual_data(obstacles.otherwise)] if obstacles.otherwise else []
    if not parts:
        return Component("full scale", "ok", "lacks nothing here")
    remedy = "`repro data fetch --for PAPER/TABLE` fetches, `repro plan PAPER` says what to do about the rest"
    return Component("full scale", "note", f"lacks {', '.join(parts)}", remedy)


def _manual_data(sentences):
    """The names of data that no command fetches."""
    names = sorted(sentence.partition(": ")[0] for sentence in sentences)
    return f"{len(names)} to be got by hand ({', '.join(names)})"
