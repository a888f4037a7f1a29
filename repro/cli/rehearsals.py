"""A rehearsal on the terminal: what each stage took, and what it will take in the whole."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from repro.cli.printing import emit_json, say, table
from repro.running.cost.rehearsals import RehearsedNode
from repro.running.discarding import discarded_stages
from repro.running.rehearsal import Rehearsal
from repro.running.run_progress import work_of
from repro.stage_table import STAGES

GB, MB = 1e9, 1e6
HEAD = ["stage", "rehearsed", "seconds", "peak GB", "GPU GB", "disk MB", "a second"]
HEAD += ["in the whole", "hours", "peak GB", "disk GB"]


def rehearse_selection(selection, *, as_json: bool) -> int:
    """Run the first rows and a few steps of a selection, and print what the whole will cost.

    Returns the exit status.
    """
    from repro.progress import TerminalProgress
    from repro.running.cost.rehearsals import keep_times
    from repro.running.rehearsal import rehearse
    from repro.store import make_writable

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
        print(f"kept for `repro plan` in {path}", file=sys.stderr)
    return 3 if rehearsal.outcome.failed else 4 if rehearsal.left_out else 0


def show_rehearsal(rehearsal: Rehearsal) -> None:
    """Print a line a node, of stages without a model a line for all nodes, then what it comes to."""
    title = "Rehearsed, and extrapolated to the whole by what each stage's cost grows with"
    table(title, HEAD, [_line(group) for group in _groups(rehearsal.nodes)], right=range(2, len(HEAD)))
    say(_summary(rehearsal))
    for item in rehearsal.nodes:
        if None in (item.whole_seconds, item.whole_peak_bytes, item.whole_disk_bytes):
            cause = "too little was done" if item.share else "nobody counted what it grows with"
            say(f"not extrapolated, as {cause}: {work_of(item.node)}")
    reasons: dict[str, list[str]] = {}
    for node, reason in rehearsal.left_out:
        reasons.setdefault(reason, []).append(work_of(node))
    for reason, nodes in reasons.items():
        say(f"not rehearsed: {', '.join(nodes)}: {reason}")


def as_plain(rehearsal: Rehearsal) -> dict:
    """A rehearsal as plain values, bytes and seconds as they are."""
    largest = rehearsal.largest
    return {
        "hours": rehearsal.hours,
        "not_in_hours": [node.fingerprint for node in rehearsal.uncounted],
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
    share = item.share and {"of": item.share.of, "done": item.share.done, "whole": item.share.whole}
    return {
        "stage": item.node.stage,
        "fingerprint": item.node.fingerprint,
        "rehearsal": item.rehearsal.fingerprint,
        "what": work_of(item.node),
        "share": share,
        "seconds": item.seconds,
        "a_second": item.rate,
        "peak_bytes": item.peak_bytes,
        "gpu_bytes": item.gpu_bytes,
        "disk_bytes": item.disk_bytes,
        "whole_hours": None if item.whole_seconds is None else item.whole_seconds / 3600,
        "whole_peak_bytes": item.whole_peak_bytes,
        "whole_disk_bytes": item.whole_disk_bytes,
        "at_most": item.at_most,
    }


def _groups(nodes: list[RehearsedNode]) -> list[list[RehearsedNode]]:
    groups: dict[str, list[RehearsedNode]] = {}
    for item in nodes:
        heavy = STAGES[item.node.stage].heavy
        groups.setdefault(item.node.fingerprint if heavy else item.node.stage, []).append(item)
    return list(groups.values())


def _line(group: list[RehearsedNode]) -> list[str]:
    first, is_single = group[0], len(group) == 1
    share = first.share if is_single else None
    return [
        work_of(first.node) if is_single else f"{first.node.stage}, {len(group)} nodes",
        f"{share.done:,.0f} {share.of}" if share else "",
        f"{sum(item.seconds for item in group):,.1f}",
        _largest_size(map(attrgetter("peak_bytes"), group)),
        _largest_size(map(attrgetter("gpu_bytes"), group)),
        f"{sum(item.disk_bytes for item in group) / MB:,.1f}",
        _rate(first.rate if is_single else None),
        f"{share.whole:,.0f}" if share else "",
        _hours(group),
        _largest_size(map(attrgetter("whole_peak_bytes"), group)),
        _total([item.whole_disk_bytes for item in group]),
    ]


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}"


def _hours(group: list[RehearsedNode]) -> str:
    seconds = [item.whole_seconds for item in group]
    if None in seconds:
        return "?"
    at_most = any(item.at_most for item in group)
    return f"{'≤ ' if at_most else ''}{sum(seconds) / 3600:,.2f}"


def _largest_size(sizes: Iterable[float | None]) -> str:
    known_sizes = [size for size in sizes if size is not None]
    return f"{max(known_sizes) / GB:,.1f}" if known_sizes else ""


def _total(sizes: list[float | None]) -> str:
    return "?" if None in sizes else f"{sum(sizes) / GB:,.1f}"


def _summary(rehearsal: Rehearsal) -> str:
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
    extent = "as far as it can be told" if missing else "all of it"
    return f"{count} stages took {seconds:,.0f} s; {extent}, extrapolated: {hours}; {disk}; {memory}"
