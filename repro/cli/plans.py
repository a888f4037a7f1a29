"""A plan and its cost on the terminal: a summary, then a line a node, stage, table or row."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from repro.cli.plan_summary import GB, show_summary
from repro.cli.printing import emit_json, say, table
from repro.graph import Node
from repro.running.cost.estimate import Estimate, estimate
from repro.running.cost.rehearsals import Rehearsals
from repro.running.discarding import discarded_stages
from repro.running.run_progress import describe
from repro.stage_table import STAGES

STATES = ("stored", "damaged", "partial", "missing", "blocked")
GROUPS = ("stage", "table", "row")


def show_plan(
    plan,
    rates,
    as_json: bool,
    *,
    root: Path,
    by: str = "stage",
    discard: Sequence[str] = (),
    max_disk: int | None = None,
    rehearsals: Rehearsals | None = None,
    progress: Iterable[str] = (),
) -> int:
    """Print a plan that has looked at a store; exit status 4 when something is blocked.

    Args:
        rates: a Throughput that hours follow from, or None.
        root: of the store.
        by: what has a line: a ``stage``, ``table``, ``row`` or ``node``.
        discard, max_disk: as a run would have them.
        rehearsals: what was measured on this machine, if that is meant.
        progress: lines on how far the plan has come.
    """
    cost = estimate(plan, rates, rehearsals)
    to_run = {node.fingerprint for node in cost.nodes}
    rows = [_row(plan, cost, node, needed=node.fingerprint in to_run) for node in plan.nodes]
    if as_json:
        emit_json(rows)
    else:
        for note in plan.scale.notes:
            say(note)
        show_summary(cost, rows, root, discard=discard, max_disk=max_disk)
        for line in progress:
            say(line)
        if not rows:
            return 0
        if any(STAGES[node.stage].heavy for node in cost.nodes):
            _show_papers(cost)
        if by == "node":
            _list_nodes(rows)
        elif by == "stage":
            _show_stages(cost, rows)
        else:
            _show_places(cost, by, discard)
    return 4 if any(r["state"] == "blocked" for r in rows) else 0


def _row(plan, cost: Estimate, node: Node, *, needed: bool) -> dict:
    obstacles, state, work = plan.obstacles(node), plan.states[node.fingerprint], cost.work_of(node)
    return {
        "stage": node.stage,
        "fingerprint": node.fingerprint,
        "what": describe(node),
        "state": "blocked" if obstacles and state != "stored" else state,
        "needed": needed,
        "params": dict(node.params),
        "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in obstacles],
        "hours": cost.hours_of(node),
        "hours_rehearsed": cost.rehearsed(node) is not None,
        "core_seconds": work.core_seconds,
        "bytes": work.stored,
        "bytes_beside": work.beside,
    }


def _list_nodes(rows: list[dict]) -> None:
    """Print a line a node in columns: there are thousands, and a table that measures cells takes long."""
    head = ["state", "node", "blocked by"]
    cells = [[r["state"], r["what"], r["blocked"][0]["cause"] if r["blocked"] else ""] for r in rows]
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(2)]
    lines = [f" {row[0]:{widths[0]}}   {row[1]:{widths[1]}}   {row[2]}".rstrip() for row in [head, *cells]]
    print("\n".join([lines[0], f" {'─' * (sum(widths) + 3 + len(head[2]))}", *lines[1:], ""]))
    for text in dict.fromkeys(f"{o['cause']}; {o['remedy']}" for r in rows for o in r["blocked"]):
        say(f"blocked: {text}")


def _show_stages(cost: Estimate, rows: list[dict]) -> None:
    """Print the nodes of each stage by state, and what those that are to run take."""
    states = [state for state in STATES if any(r["state"] == state for r in rows)]
    counts = Counter((r["stage"], r["state"]) for r in rows)
    lines = []
    for stage in dict(counts.keys()):
        nodes = [node for node in cost.nodes if node.stage == stage]
        lines.append([stage, *(str(counts[stage, s] or "") for s in states), *_amounts(cost, nodes)])
    head = ["stage", *states, *_units(cost)]
    table("by stage, with what is to run", head, lines, right=range(1, len(head)))


def _show_places(cost: Estimate, by: str, discard: Sequence[str]) -> None:
    """Print what each table or row takes by itself; what they share is in each."""
    lines, stages = [], discarded_stages(discard)
    for place, part in cost.plan.parts(by).items():
        part_cost = estimate(part, cost.throughput, cost.rehearsals)
        blocked_count = sum(bool(part.obstacles(node)) for node in part_cost.nodes)
        level = part_cost.fullest(stages)
        peak = f"{level.during / GB:,.1f}" if level else ""
        counts = [str(len(part.nodes)), str(len(part_cost.nodes) or ""), str(blocked_count or "")]
        lines.append([place, *counts, *_amounts(part_cost, part_cost.nodes), peak])
    head = [by, "nodes", "to run", "blocked", *_units(cost), "peak GB"]
    table(f"by {by}, what they share in each", head, lines, right=range(1, len(head)))


def _units(cost: Estimate) -> list[str]:
    return [f"{cost.throughput.unit} hours" if cost.throughput else "FLOP", "core hours", "GB"]


def _amounts(cost: Estimate, nodes: list[Node]) -> list[str]:
    if not nodes:
        return ["", "", ""]
    gigabytes = sum(cost.work_of(node).stored or 0 for node in nodes) / GB
    return [_amount(cost, nodes), f"{cost.core_hours(nodes):,.1f}", f"{gigabytes:,.1f}"]


def _show_papers(cost: Estimate) -> None:
    """Print a line a paper, beside what it says of its own cost."""
    from repro.manifest.papers import paper
    from repro.running.cost.estimate import stated_costs

    rows = []
    for name, nodes in cost.by_paper.items():
        pretrainings = [node for node in nodes if node.stage == "pretrain"]
        longest = sorted(pretrainings, key=lambda node: cost.works[node.fingerprint].training or 0)[-1:]
        finetunings = [node for node in nodes if node.stage == "finetune"]
        amounts = [_amount(cost, group) for group in (pretrainings, longest, finetunings, nodes)]
        rows.append([name, *amounts, "\n".join(map(str, stated_costs(paper(name))))])
    unit = f"{cost.throughput.unit} hours" if cost.throughput else "FLOP"
    head = ["paper", "pre-training", "longest of it", "fine-tuning", "all", "the paper on its own cost"]
    table(f"Estimated {unit} of what is to run; what papers share is in each", head, rows, right=(1, 2, 3, 4))


def _amount(cost: Estimate, nodes: list[Node]) -> str:
    if cost.throughput:
        return f"{cost.hours(nodes):,.1f}"
    return f"{sum(cost.works[node.fingerprint].operations for node in nodes):.1e}"
