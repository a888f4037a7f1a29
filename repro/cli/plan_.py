"""``repro plan``"""

from __future__ import annotations

import click

from repro.cli.selection import selecting


@click.command(
    "plan", epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json"
)
@selecting
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
def command(selection, as_json):
    """Show what a run would do: which stages are stored, missing or blocked."""
    return show_plan(selection.plan(), selection.store(), as_json)


def show_plan(plan, store, as_json: bool) -> int:
    """Print a plan; exit status 4 when something is blocked."""
    from repro.cli.output import emit_json, table
    from repro.runner import describe

    plan.look(store)
    needed = {node.fingerprint for node in plan.needed()}
    rows = []
    for node in plan.nodes:
        obstacles = plan.obstacles(node)
        state = plan.states[node.fingerprint]
        if obstacles and state != "stored":
            state = "blocked"
        rows.append({
            "stage": node.stage, "fingerprint": node.fingerprint, "what": describe(node), "state": state,
            "needed": node.fingerprint in needed, "params": dict(node.params),
            "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in obstacles],
        })  # fmt: skip
    if as_json:
        emit_json(rows)
    else:
        shown = [[r["state"], r["what"], r["blocked"][0]["cause"] if r["blocked"] else ""] for r in rows]
        table(
            f"{len(plan.measurements)} measurements at scale {plan.scale.name}",
            ["state", "node", "blocked by"],
            shown,
        )
        remedies = dict.fromkeys(f"{o['cause']}; {o['remedy']}" for r in rows for o in r["blocked"])
        for text in remedies:
            print(f"blocked: {text}")
        unplanned = sum(not c.recipe and not c.column.mean_of for c in plan.cells)
        print(f"{plan.asked} stage calls asked for, {len(rows)} distinct nodes, {len(needed)} to run; "
              f"{unplanned} cells have no recipe yet")  # fmt: skip
    return 4 if any(r["state"] == "blocked" for r in rows) else 0
