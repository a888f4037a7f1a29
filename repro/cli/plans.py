"""A plan and its cost on the terminal."""

from collections import Counter

from repro.cli.printing import emit_json, say, table
from repro.graph import Node
from repro.running.cost.estimate import Estimate, estimate
from repro.running.description import describe
from repro.stage_table import STAGES

GB = 1e9
STATES = ("stored", "damaged", "partial", "missing", "blocked")


def show_plan(plan, rates, as_json: bool, *, summary: bool = False) -> int:
    """Print a plan that has looked at a store; exit status 4 when something is blocked.

    Args:
        rates: a Throughput that hours follow from, or None.
        summary: count the nodes of each stage instead of listing them, and say in a line what is lacking.
    """
    needed = {node.fingerprint for node in plan.needed()}
    rows = [_row(plan, node, needed=node.fingerprint in needed) for node in plan.nodes]
    if as_json:
        emit_json(rows)
    else:
        for note in plan.scale.notes:
            say(note)
        (_count if summary else _list_nodes)(plan, rows)
        _print_totals(plan, rows)
        show_cost(estimate(plan, rates))
    return 4 if any(r["state"] == "blocked" for r in rows) else 0


def _list_nodes(plan, rows: list[dict]) -> None:
    shown = [[r["state"], r["what"], r["blocked"][0]["cause"] if r["blocked"] else ""] for r in rows]
    _list(f"{len(plan.measurements)} measurements at scale {plan.scale.name}", shown)
    for text in dict.fromkeys(f"{o['cause']}; {o['remedy']}" for r in rows for o in r["blocked"]):
        say(f"blocked: {text}")


def _count(plan, rows: list[dict]) -> None:
    """The nodes of each stage by state, then all that is lacking in one line."""
    from repro.cli.obstacles import together
    from repro.running.lacks import lacks_of

    states = [state for state in STATES if any(r["state"] == state for r in rows)]
    counts = Counter((r["stage"], r["state"]) for r in rows)
    lines = [[stage, *(str(counts[stage, s] or "") for s in states)] for stage in dict(counts.keys())]
    title = f"{len(plan.measurements)} measurements at scale {plan.scale.name}"
    table(title, ["stage", *states], lines, right=range(1, len(states) + 1))
    if names := lacks_of(plan).names:
        say(f"lacking: {together(names)}")


def _print_totals(plan, rows: list[dict]) -> None:
    unplanned = sum(not c.recipe and not c.column.mean_of for c in plan.cells)
    print(
        f"{plan.asked} stage calls asked for, {len(rows)} distinct nodes, "
        f"{sum(r['needed'] for r in rows)} to run; {unplanned} cells have no recipe yet"
    )


def _row(plan, node: Node, *, needed: bool) -> dict:
    obstacles, state = plan.obstacles(node), plan.states[node.fingerprint]
    return {
        "stage": node.stage,
        "fingerprint": node.fingerprint,
        "what": describe(node),
        "state": "blocked" if obstacles and state != "stored" else state,
        "needed": needed,
        "params": dict(node.params),
        "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in obstacles],
    }


def _list(title: str, rows: list[list[str]]) -> None:
    """A line a node in columns: there are thousands, and a table that measures cells would take long."""
    head = ["state", "node", "blocked by"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(2)]
    lines = [f" {row[0]:{widths[0]}}   {row[1]:{widths[1]}}   {row[2]}".rstrip() for row in [head, *rows]]
    print("\n".join([title, "", lines[0], f" {'─' * (sum(widths) + 3 + len(head[2]))}", *lines[1:], ""]))


def show_cost(cost: Estimate) -> None:
    """Downloads, disk and hours of what is missing, then a line a paper beside what it says itself."""
    if not cost.nodes:
        return
    print(_downloads(cost))
    print(f"disk: about {cost.stored / GB:,.1f} GB of artefacts to come")
    print(_work(cost))
    if cost.uncounted:
        stages = ", ".join(dict.fromkeys(node.stage for node in cost.uncounted))
        print(f"not estimated, for want of a count of their texts: {len(cost.uncounted)} of {stages}")
    if any(STAGES[node.stage].heavy for node in cost.nodes):
        _papers(cost)


def _downloads(cost: Estimate) -> str:
    known = [size for size in cost.downloads.values() if size]
    unknown = len(cost.downloads) - len(known)
    parts = [f"{sum(known) / GB:,.1f} GB in {len(known)} archives"] if known else []
    parts += [f"{unknown} collections of unknown size"] if unknown else []
    parts += [f"{len(cost.checkpoints)} checkpoints"] if cost.checkpoints else []
    return f"to download: {', '.join(parts) or 'nothing'}"


def _work(cost: Estimate) -> str:
    work, rates = f"work: about {cost.operations:.2g} FLOP", cost.throughput
    if rates is None:
        return f"{work}; for hours, `repro calibrate` measures this machine, or name a GPU with --gpu"
    return f"{work}, {cost.hours(cost.nodes):,.1f} {rates.unit} hours ({rates.basis})"


def _papers(cost: Estimate) -> None:
    from repro.manifest.papers import paper
    from repro.running.cost.stated import stated

    rows = []
    for name, nodes in cost.by_paper.items():
        trained = [node for node in nodes if node.stage == "pretrain"]
        longest = sorted(trained, key=lambda node: cost.works[node.fingerprint].training or 0)[-1:]
        tuned = [node for node in nodes if node.stage == "finetune"]
        amounts = [_amount(cost, group) for group in (trained, longest, tuned, nodes)]
        rows.append([name, *amounts, "\n".join(map(str, stated(paper(name))))])
    unit = f"{cost.throughput.unit} hours" if cost.throughput else "FLOP"
    head = ["paper", "pre-training", "longest of it", "fine-tuning", "all", "the paper on its own cost"]
    table(f"Estimated {unit} of what is to run; what papers share is in each", head, rows, right=(1, 2, 3, 4))


def _amount(cost: Estimate, nodes: list[Node]) -> str:
    if cost.throughput:
        return f"{cost.hours(nodes):,.1f}"
    return f"{sum(cost.works[node.fingerprint].operations for node in nodes):.1e}"
