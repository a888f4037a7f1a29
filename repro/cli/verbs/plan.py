"""``repro plan``"""

from __future__ import annotations

import click

from repro.cli.options import selecting


@click.command(
    "plan",
    epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json\n"
    "  repro plan --all --gpu h100",
)
@selecting
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to h200, not of this machine.")
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
def command(selection, gpu, as_json):
    """Show what a run would do: which stages are stored, missing or blocked.

    Then what it takes: downloads, disk, and hours by simple formulas over what `repro calibrate` measured
    here, or an assumed throughput of a named GPU, beside what the papers say of their own cost.
    """
    from repro.running.cost.throughput import throughput

    plan, store = selection.plan(), selection.workspace.store
    rates = throughput(store, gpu)
    plan.look(store)
    return show_plan(plan, rates, as_json)


def show_plan(plan, rates, as_json: bool) -> int:
    """Print a plan that has looked at a store; exit status 4 when something is blocked.

    Args:
        rates: a Throughput to tell hours from, or None.
    """
    from repro.cli.costs import show_cost
    from repro.cli.printing import emit_json
    from repro.running.cost.estimate import estimate
    from repro.running.runner import describe

    needed = {node.fingerprint for node in plan.needed()}
    rows = []
    for node in plan.nodes:
        obstacles = plan.obstacles(node)
        state = plan.states[node.fingerprint]
        if obstacles and state != "stored":
            state = "blocked"
        rows.append(
            {
                "stage": node.stage,
                "fingerprint": node.fingerprint,
                "what": describe(node),
                "state": state,
                "needed": node.fingerprint in needed,
                "params": dict(node.params),
                "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in obstacles],
            }
        )
    if as_json:
        emit_json(rows)
    else:
        shown = [[r["state"], r["what"], r["blocked"][0]["cause"] if r["blocked"] else ""] for r in rows]
        _list(f"{len(plan.measurements)} measurements at scale {plan.scale.name}", shown)
        remedies = dict.fromkeys(f"{o['cause']}; {o['remedy']}" for r in rows for o in r["blocked"])
        for text in remedies:
            print(f"blocked: {text}")
        unplanned = sum(not c.recipe and not c.column.mean_of for c in plan.cells)
        print(
            f"{plan.asked} stage calls asked for, {len(rows)} distinct nodes, {len(needed)} to run; "
            f"{unplanned} cells have no recipe yet"
        )
        show_cost(estimate(plan, rates))
    return 4 if any(r["state"] == "blocked" for r in rows) else 0


def _list(title: str, rows: list[list[str]]) -> None:
    """A line a node in columns: there are thousands, and a table that measures cells would take long."""
    head = ["state", "node", "blocked by"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(2)]
    lines = [f" {row[0]:{widths[0]}}   {row[1]:{widths[1]}}   {row[2]}".rstrip() for row in [head, *rows]]
    print("\n".join([title, "", lines[0], f" {'─' * (sum(widths) + 3 + len(head[2]))}", *lines[1:], ""]))
