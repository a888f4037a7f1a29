"""A rehearsal on the terminal: what each stage took, and what it will take in the whole."""

from collections.abc import Iterable
from operator import attrgetter

from repro.cli.printing import say, table
from repro.running.cost.extrapolation import RehearsedNode
from repro.running.description import work_of
from repro.running.discarding import discarded_stages
from repro.running.rehearsal import Rehearsal
from repro.stage_table import STAGES

GB, MB = 1e9, 1e6
HEAD = ["stage", "rehearsed", "seconds", "peak GB", "GPU GB", "disk MB", "a second"]
HEAD += ["in the whole", "hours", "peak GB", "disk GB"]


def show_rehearsal(rehearsal: Rehearsal) -> None:
    """A line a node, of stages without a model a line for all nodes, then what it comes to."""
    scale = "Rehearsed, and extrapolated to the whole by what each stage's cost grows with"
    table(scale, HEAD, [_line(group) for group in _groups(rehearsal.nodes)], right=range(2, len(HEAD)))
    say(_sum(rehearsal))
    for each in rehearsal.nodes:
        if None in (each.whole_seconds, each.whole_peak_bytes, each.whole_disk_bytes):
            counted = "too little was done" if each.share else "nobody counted what it grows with"
            say(f"not extrapolated, as {counted}: {work_of(each.node)}")
    reasons: dict[str, list[str]] = {}
    for node, reason in rehearsal.left_out:
        reasons.setdefault(reason, []).append(work_of(node))
    for reason, nodes in reasons.items():
        say(f"not rehearsed: {', '.join(nodes)}: {reason}")


def as_plain(rehearsal: Rehearsal) -> dict:
    """The same as plain values, bytes and seconds as they are."""
    largest = rehearsal.largest
    return {
        "hours": rehearsal.hours,
        "not_in_hours": [node.fingerprint for node in rehearsal.uncounted],
        "disk_bytes": rehearsal.disk_bytes,
        "disk_peak_bytes": rehearsal.fullest(),
        "disk_peak_bytes_without_vectors": rehearsal.fullest(discarded_stages(["vectors"])),
        "peak_bytes": largest and largest.whole_peak_bytes,
        "nodes": [_plain(each) for each in rehearsal.nodes],
        "not_rehearsed": [
            {"stage": node.stage, "fingerprint": node.fingerprint, "what": work_of(node), "why": why}
            for node, why in rehearsal.left_out
        ],
    }


def _plain(each: RehearsedNode) -> dict:
    share = each.share and {"of": each.share.of, "done": each.share.done, "whole": each.share.whole}
    return {
        "stage": each.node.stage,
        "fingerprint": each.node.fingerprint,
        "rehearsal": each.rehearsal.fingerprint,
        "what": work_of(each.node),
        "share": share,
        "seconds": each.seconds,
        "a_second": each.rate,
        "peak_bytes": each.peak_bytes,
        "gpu_bytes": each.gpu_bytes,
        "disk_bytes": each.disk_bytes,
        "whole_hours": None if each.whole_seconds is None else each.whole_seconds / 3600,
        "whole_peak_bytes": each.whole_peak_bytes,
        "whole_disk_bytes": each.whole_disk_bytes,
        "at_most": each.at_most,
    }


def _groups(nodes: list[RehearsedNode]) -> list[list[RehearsedNode]]:
    groups: dict[str, list[RehearsedNode]] = {}
    for each in nodes:
        heavy = STAGES[each.node.stage].heavy
        groups.setdefault(each.node.fingerprint if heavy else each.node.stage, []).append(each)
    return list(groups.values())


def _line(group: list[RehearsedNode]) -> list[str]:
    first, alone = group[0], len(group) == 1
    share = first.share if alone else None
    return [
        work_of(first.node) if alone else f"{first.node.stage}, {len(group)} nodes",
        f"{share.done:,.0f} {share.of}" if share else "",
        f"{sum(each.seconds for each in group):,.1f}",
        _largest(map(attrgetter("peak_bytes"), group)),
        _largest(map(attrgetter("gpu_bytes"), group)),
        f"{sum(each.disk_bytes for each in group) / MB:,.1f}",
        _rounded(first.rate if alone else None),
        f"{share.whole:,.0f}" if share else "",
        _hours(group),
        _largest(map(attrgetter("whole_peak_bytes"), group)),
        _added([each.whole_disk_bytes for each in group]),
    ]


def _rounded(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}"


def _hours(group: list[RehearsedNode]) -> str:
    known = [each.whole_seconds for each in group]
    if None in known:
        return "?"
    at_most = any(each.at_most for each in group)
    return f"{'≤ ' if at_most else ''}{sum(known) / 3600:,.2f}"


def _largest(sizes: Iterable[float | None]) -> str:
    known = [size for size in sizes if size is not None]
    return f"{max(known) / GB:,.1f}" if known else ""


def _added(sizes: list[float | None]) -> str:
    return "?" if None in sizes else f"{sum(sizes) / GB:,.1f}"


def _sum(rehearsal: Rehearsal) -> str:
    largest, count = rehearsal.largest, len(rehearsal.nodes)
    if largest is None:
        return "nothing was rehearsed"
    seconds = sum(each.seconds for each in rehearsal.nodes)
    memory = f"at least {(largest.whole_peak_bytes or 0) / GB:,.1f} GB of memory ({largest.node.stage})"
    lacking = len(rehearsal.uncounted)
    without = f", not counting {lacking} stage{'s' * (lacking != 1)} named below" if lacking else ""
    whole = f"{rehearsal.hours:,.1f} hours one stage after another on this machine{without}"
    least = rehearsal.fullest(discarded_stages(["vectors"])) / GB
    disk = f"{rehearsal.fullest() / GB:,.1f} GB of disk at its fullest ({least:,.1f} with --discard vectors)"
    extent = "as far as it can be told" if lacking else "all of it"
    return f"{count} stages took {seconds:,.0f} s; {extent}, extrapolated: {whole}; {disk}; {memory}"
