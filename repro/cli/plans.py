"""Print a plan or a rehearsal, e.g. one line per stage."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from repro.cli.plan_summary import GB, show_summary
from repro.cli.printing import emit_json, say, table
from repro.graph import Node, grouped, walk
from repro.manifest.papers import paper, stated_costs
from repro.progress import TerminalProgress
from repro.running.cost.estimate import Estimate, estimate, rounded
from repro.running.cost.rehearsals import Rehearsals, RehearsedNode, keep_times
from repro.running.cost.shapes import Number, added
from repro.running.discarding import discarded_stages
from repro.running.rehearsal import Rehearsal, rehearse
from repro.running.run_progress import describe, work_of
from repro.stage_table import STAGES
from repro.store import make_writable

STATES = ("stored", "damaged", "partial", "missing", "blocked")
MB = 1e6
CHEAPEST = 5
HEAD = ["stage", "rehearsed", "seconds", "peak GB", "GPU GB", "disk MB", "per second"]
HEAD += ["in the whole", "hours", "peak GB", "disk GB"]


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
    price: float | None = None,
    progress: Iterable[str] = (),
) -> int:
    """Print a plan. Call ``plan.look(store)`` before. Returns 4 if a stage is blocked, otherwise 0.

    Args:
        rates: the Throughput for hours, or None.
        by: one line per kind of ``stage``, ``table``, ``row`` or ``node`` (single stage). With a price, ""
            gives tables and rows.
        price: dollars per GPU hour.
        progress: sentences on finished work to print.
    """
    cost = estimate(plan, rates, rehearsals)
    to_run = {node.fingerprint for node in cost.nodes}
    rows = [_stage_as_json(plan, cost, n, needed=n.fingerprint in to_run) for n in plan.nodes]
    if as_json:
        emit_json(rows)
    else:
        for note in plan.scale.notes:
            say(note)
        show_summary(cost, rows, root, discard=discard, max_disk=max_disk)
        for line in progress:
            say(line)
        if rows:
            _show_rows(cost, rows, by, discard, price)
    return 4 if any(r["state"] == "blocked" for r in rows) else 0


def _show_rows(
    cost: Estimate, rows: list[dict], by: str, discard: Sequence[str], price: float | None
) -> None:
    if any(STAGES[n.stage].heavy for n in cost.nodes):
        _show_papers(cost)
    if by == "node":
        lines = [[r["state"], r["what"], r["blocked"][0]["cause"] if r["blocked"] else ""] for r in rows]
        table("", ["state", "stage", "blocked by"], lines)
        for text in dict.fromkeys(f"{o['cause']}; {o['remedy']}" for r in rows for o in r["blocked"]):
            say(f"blocked: {text}")
    elif by == "stage":
        _show_stages(cost, rows)
    else:
        for place in [by] if by else ["table", "row"]:
            _show_places(cost, place, discard, price)
        if price:
            _show_cheapest(cost, price)


def _stage_as_json(plan, cost: Estimate, node: Node, *, needed: bool) -> dict:
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


def _show_stages(cost: Estimate, rows: list[dict]) -> None:
    counts = Counter((r["stage"], r["state"]) for r in rows)
    states = [state for state in STATES if state in {state for _, state in counts}]
    nodes = grouped((n.stage, n) for n in cost.nodes)
    lines = [
        [stage, *(str(counts[stage, state] or "") for state in states), *_cost_cells(cost, nodes[stage])]
        for stage in dict(counts.keys())
    ]
    head = ["stage", *states, *_units(cost)]
    table("by stage, with the cost of stages to run", head, lines, right=range(1, len(head)))


def _show_places(cost: Estimate, by: str, discard: Sequence[str], price: float | None) -> None:
    lines, stages = [], discarded_stages(discard)
    for place, part in cost.plan.split(by).items():
        own = estimate(part, cost.throughput, cost.rehearsals)
        blocked = sum(bool(part.obstacles(n)) for n in own.nodes)
        level = own.fullest(stages)
        peak = rounded(level.during / GB, 3) if level else ""
        counts = [str(len(part.nodes)), str(len(own.nodes) or ""), str(blocked or "")]
        dollars = [own.hours_in_words(own.nodes, price=price)] if price else []
        lines.append([place, *counts, *_cost_cells(own, own.nodes), peak, *dollars])
    head = [by, "stages", "to run", "blocked", *_units(cost), "peak GB", *["dollars"] * bool(price)]
    table(f"by {by}, shared stages in each", head, lines, right=range(1, len(head)))


def _show_cheapest(cost: Estimate, price: float) -> None:
    by_row: dict[str, tuple[float, str, str]] = {}
    parts = grouped((m.cell.id, part) for m in cost.plan.measurements for part in m.parts)
    for cell, ends in parts.items():
        nodes, row = [n for n in walk(ends) if n.fingerprint in cost.works], cell.rpartition("/")[0]
        if None not in map(cost.hours_of, nodes) and (hours := cost.hours(nodes)):
            found = hours, cell, cost.hours_in_words(nodes, price=price)
            by_row[row] = min(found, by_row.get(row, found))
    cheapest = ", ".join(f"{cell} ${dollars}" for _, cell, dollars in sorted(by_row.values())[:CHEAPEST])
    say(f"all: ${cost.hours_in_words(cost.nodes, price=price)} at ${price:,.2f} per GPU hour")
    say(f"cheapest cells that need a GPU: {cheapest or 'none'}")


def _units(cost: Estimate) -> list[str]:
    return [f"{cost.throughput.unit} hours" if cost.throughput else "FLOP", "core hours", "GB"]


def _cost_cells(cost: Estimate, nodes: list[Node]) -> list[str]:
    if not nodes:
        return ["", "", ""]
    gigabytes = sum(cost.work_of(n).stored or 0 for n in nodes) / GB
    return [_hours_or_operations(cost, nodes), rounded(cost.core_hours(nodes)), rounded(gigabytes, 3)]


def _show_papers(cost: Estimate) -> None:
    rows = []
    for name, part in cost.plan.split("paper").items():
        nodes = part.needed()
        pretrained = [n for n in nodes if n.stage == "pretrain"]
        longest = sorted(pretrained, key=lambda node: cost.works[node.fingerprint].training or 0)[-1:]
        finetunings = [n for n in nodes if n.stage == "finetune"]
        amounts = [_hours_or_operations(cost, group) for group in (pretrained, longest, finetunings, nodes)]
        rows.append([name, *amounts, "\n".join(map(str, stated_costs(paper(name))))])
    head = ["paper", "pre-training", "longest pre-training", "fine-tuning", "all", "cost stated in the paper"]
    title = f"Estimated {_units(cost)[0]} of the stages to run (shared stages count in each paper)"
    table(title, head, rows, right=(1, 2, 3, 4), multiline=True)


def _hours_or_operations(cost: Estimate, nodes: list[Node]) -> str:
    if cost.throughput:
        return cost.hours_in_words(nodes)
    return f"{sum(cost.works[n.fingerprint].operations for n in nodes):.1e}"


def rehearse_selection(selection, *, as_json: bool) -> int:
    """Rehearse, and return the exit status: 3 if a stage failed, 4 if one was left out, or 0."""
    progress, store = TerminalProgress(), selection.workspace.store
    with progress.task("planning"):
        plan = selection.plan()
        whole_plan = replace(selection, scale=plan.scale.whole, of_user=None).plan()
    make_writable(store.root)
    for note in plan.scale.notes:
        progress.note(note)
    rehearsal = rehearse(whole_plan, plan, store, progress)
    path = keep_times(rehearsal.nodes, store)
    if as_json:
        emit_json(as_plain(rehearsal))
    else:
        show_rehearsal(rehearsal)
        print(f"saved for `repro plan` in {path}", file=sys.stderr)
    return 3 if rehearsal.outcome.failed else 4 if rehearsal.left_out else 0


def show_rehearsal(rehearsal: Rehearsal) -> None:
    """Print a line per stage and the total. Stages that need no GPU share a line by kind."""
    groups = grouped(
        (item.node.fingerprint if STAGES[item.node.stage].heavy else item.node.stage, item)
        for item in rehearsal.nodes
    )
    rows = [_rehearsal_row(group) for group in groups.values()]
    table("Rehearsed and extrapolated to the whole", HEAD, rows, right=range(2, len(HEAD)))
    say(_rehearsal_in_words(rehearsal))
    for item in rehearsal.nodes:
        if None in (item.whole_seconds, item.whole_peak_bytes, item.whole_disk_bytes):
            cause = "the rehearsal was too short" if item.share else "its size was not counted"
            say(f"not extrapolated ({cause}): {work_of(item.node)}")
    for reason, nodes in grouped((why, work_of(node)) for node, why in rehearsal.left_out).items():
        say(f"not rehearsed: {', '.join(nodes)}: {reason}")


def as_plain(rehearsal: Rehearsal) -> dict:
    largest = rehearsal.largest
    return {
        "hours": rehearsal.hours,
        "not_in_hours": [n.fingerprint for n in rehearsal.uncounted],
        "disk_bytes": rehearsal.disk_bytes,
        "disk_peak_bytes": rehearsal.fullest(),
        "disk_peak_bytes_without_vectors": rehearsal.fullest(discarded_stages(["vectors"])),
        "peak_bytes": largest and largest.whole_peak_bytes,
        "nodes": [_node_as_plain(item) for item in rehearsal.nodes],
        "not_rehearsed": [
            {"stage": node.stage, "fingerprint": node.fingerprint, "what": work_of(node), "why": reason}
            for node, reason in rehearsal.left_out
        ],
    }


def _node_as_plain(item: RehearsedNode) -> dict:
    return {
        "stage": item.node.stage,
        "fingerprint": item.node.fingerprint,
        "rehearsal": item.rehearsal.fingerprint,
        "what": work_of(item.node),
        "share": asdict(item.share) if item.share else None,
        "seconds": item.seconds,
        "a_second": item.rate,
        **{name: getattr(item, name) for name in ("peak_bytes", "gpu_bytes", "disk_bytes")},
        "whole_hours": None if item.whole_seconds is None else item.whole_seconds / 3600,
        **{name: getattr(item, name) for name in ("whole_peak_bytes", "whole_disk_bytes", "at_most")},
    }


def _rehearsal_row(group: list[RehearsedNode]) -> list[str]:
    first, is_single = group[0], len(group) == 1
    done, whole = _work_done(first) if is_single else ("", "")
    return [
        work_of(first.node) if is_single else f"{first.node.stage}, {len(group)} stages",
        done,
        f"{sum(item.seconds for item in group):,.1f}",
        _largest_size(item.peak_bytes for item in group),
        _largest_size(item.gpu_bytes for item in group),
        f"{sum(item.disk_bytes for item in group) / MB:,.1f}",
        _rate(first.rate if is_single else None),
        whole,
        _hours(group),
        _largest_size(item.whole_peak_bytes for item in group),
        _total_size(item.whole_disk_bytes for item in group),
    ]


def _work_done(item: RehearsedNode) -> tuple[str, str]:
    share = item.share
    return (f"{share.done:,.0f} {share.of}", f"{share.whole:,.0f}") if share else ("", "")


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}"


def _total_size(sizes: Iterable[Number]) -> str:
    size = added(sizes)
    return "?" if size is None else f"{size / GB:,.1f}"


def _hours(group: list[RehearsedNode]) -> str:
    seconds = added(item.whole_seconds for item in group)
    at_most = any(item.at_most for item in group)
    return "?" if seconds is None else f"{'≤ ' if at_most else ''}{seconds / 3600:,.2f}"


def _largest_size(sizes: Iterable[Number]) -> str:
    largest = max((size for size in sizes if size is not None), default=None)
    return "" if largest is None else f"{largest / GB:,.1f}"


def _rehearsal_in_words(rehearsal: Rehearsal) -> str:
    largest, count = rehearsal.largest, len(rehearsal.nodes)
    if largest is None:
        return "nothing was rehearsed"
    seconds = sum(item.seconds for item in rehearsal.nodes)
    memory = f"at least {(largest.whole_peak_bytes or 0) / GB:,.1f} GB of memory ({largest.node.stage})"
    missing = len(rehearsal.uncounted)
    remainder = f", not counting {missing} stage{'s' * (missing != 1)} named below" if missing else ""
    hours = f"{rehearsal.hours:,.1f} hours one stage after another on this machine{remainder}"
    lowest = rehearsal.fullest(discarded_stages(["vectors"])) / GB
    disk = f"{rehearsal.fullest() / GB:,.1f} GB of disk at its fullest ({lowest:,.1f} with --discard vectors)"
    return f"{count} stages took {seconds:,.0f} s. Extrapolated: {hours}, {disk}, {memory}."
