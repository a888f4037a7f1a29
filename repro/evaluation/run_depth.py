"""The depth of a run, and the measures that look deeper: their values would be another measure's."""

from collections.abc import Iterable, Mapping, Sized
from pathlib import Path

from repro.errors import UsageError
from repro.evaluation.measures import parse_measure


def run_depth(run: Mapping[str, Sized], judged: Iterable[str]) -> int:
    """The number of documents of the judged query that has most; 0 where the run has none of them.

    A query may retrieve little, but where none reaches a rank the run may have been cut above it.
    """
    return max((len(run[query]) for query in judged if query in run), default=0)


def looks_deeper(measure: str, depth: float) -> bool:
    """Whether a measure (ir_measures name) looks at ranks below those of a run of this depth."""
    return parse_measure(measure).cutoff > depth


def check_depth(path: Path, depth: int, measure: str, *, cell: str = "") -> None:
    """Raise UsageError where a measure, or the cell that is scored by it, looks deeper than the run goes."""
    if looks_deeper(measure, depth):
        subject, alternatives = (f"{cell} is {measure} and", "cells") if cell else (measure, "measures")
        reason = f"the run has {depth} documents a query, {subject} looks at {parse_measure(measure).cutoff}"
        raise UsageError(f"{path}: {reason}; take a deeper run, or name other {alternatives}")
