"""The depth of the runs that a graph makes, held against the ranks that a measure looks at."""

import math
from collections.abc import Iterable

from repro.errors import UsageError
from repro.evaluation.any_measures import looks_deeper
from repro.evaluation.measures import parse_measure
from repro.graph import Node


def depth_of(run: Node) -> float:
    """The documents a query that a run has at most, by its parameters; infinity where these do not say."""
    depth = run.params.get("depth", math.inf)
    if run.stage == "rerank":  # of what it reads, and with what it leaves below
        return min(depth_of(run.inputs["run"]), max(depth, run.params["keep"]))
    return depth


def cut_at(runs: Iterable[Node], measure: str) -> int | None:
    """The depth of the shortest run, where the measure (ir_measures name) looks deeper; else None."""
    depth = min(map(depth_of, runs), default=math.inf)
    return int(depth) if looks_deeper(measure, depth) else None


def check_depths(runs: Iterable[Node], measure: str) -> None:
    """Refuse runs that end before the measure does. Raises UsageError."""
    if depth := cut_at(runs, measure):
        reason = f"its run has {depth} documents a query, {measure} looks at {parse_measure(measure).cutoff}"
        raise UsageError(f"{reason}; search deeper")
