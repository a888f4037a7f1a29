"""The directive that draws the loss of a training, from the log that lies beside what it trained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from statistics import fmean

from repro.errors import UsageError
from repro.graph import Node
from repro.report.article.picture import Put, round_numbers
from repro.report.article.results import StudyResults
from repro.report.figures.line_panels import Lines, Place, line_panels

LOG = "train_log.jsonl"
PLACES = 40  # that a curve has at most; each is the mean of as many lines of the log


def losses(results: StudyResults, put: Put, row: str) -> str:
    """The loss of the first pre-training behind ``table/row``, if it is stored here."""
    pretrainings = [node for node in results.stages(row) if node.stage == "pretrain"]
    if not pretrainings:
        raise UsageError(f"row {row} has no pre-training whose loss could be drawn")
    lines = _log(results, pretrainings[0])
    size = -(-len(lines) // PLACES) or 1
    places = [_place(lines[first : first + size]) for first in range(0, len(lines), size)]
    ticks = round_numbers(place.x for place in places)
    name = pretrainings[0].params["objective"]["name"]
    return put(
        partial(line_panels, [Lines("", "steps", [(name, places)], ticks=ticks)], across=1),
        name="losses-" + row.replace("/", "-"),
        title="The loss of the first pre-training, step by step",
        small=f"Means of {size} logged losses; upright lines: lowest to highest. Scale {results.scale}.",
        head=("steps", "mean", "lowest", "highest"),
        rows=[(place.x, place.y, place.low, place.high) for place in places],
    )


def _place(lines: Sequence[dict]) -> Place:
    """One place of the curve, at the last of its steps."""
    values = [line["loss"] for line in lines]
    return Place(lines[-1]["step"], fmean(values), min(values), max(values))


def _log(results: StudyResults, node: Node) -> list[dict]:
    """The logged losses; nothing where the training is not stored."""
    store = results.workspace.store
    if store.state(node) != "stored":
        return []
    text = (store.checked(node) / LOG).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
