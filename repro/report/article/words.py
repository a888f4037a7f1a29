"""Directives that stand for words or numbers within a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from repro.errors import UsageError, unknown
from repro.graph import Node
from repro.manifest.papers import papers
from repro.report.article.prose import NOT_MEASURED
from repro.report.article.results import StudyResults


def words(results: StudyResults) -> dict[str, Callable[..., str]]:
    """The directives by name."""
    return {
        "scale": lambda: results.scale,
        "seeds": lambda: ",".join(map(str, results.seeds)),
        "count": lambda of: _count(results, of),
        "value": lambda cell, scale="": value(results, cell, scale),
        "queries": lambda cell: _queries(results, cell),
        "planned": lambda row, stage, parameter: _planned_parameter(results.stages(row), stage, parameter),
        "tokens": lambda row: _tokens(results, row),
        "times": lambda row, base: _flops_ratio(results, row, base),
    }


def value(results: StudyResults, cell: str, scale: str = "") -> str:
    """The mean over seeds, with a decimal, of fractions with three; of a figure's point at another scale.

    In brackets where something is doubtful about it. Of a table's cell the mean that its table shows: over
    the planned seeds, where some have been measured.
    """
    c = results.point(cell, scale) if scale else results.cell(cell)
    if c.measured is None:
        return NOT_MEASURED
    is_percent, entry = c.cell.unit == "percent", None
    if not scale:
        entry = results.study(c.cell.table.id).entries.get((c.cell.row.id, c.cell.column.id))
    mean = c.measured if entry is None else entry.mean * (100 if is_percent else 1)
    text = f"{mean:.{1 if is_percent else 3}f}"
    return f"({text})" if c.doubts else text


def _count(results: StudyResults, name: str) -> str:
    counts = {
        "seeds": len(results.seeds),
        "cells": len(results.cells),
        "papers": sum(bool(p.manifest.authors) for p in papers().values()),
        "outdated": results.outdated,
        "measured": sum(c.measured is not None for c in results.cells.values()),
    }
    if name not in counts:
        raise unknown("thing to count", name, counts)
    return str(counts[name])


def _queries(results: StudyResults, cell: str) -> str:
    counts = {record.queries for record in results.cell(cell).records}
    return " or ".join(f"{count:,}" for count in sorted(counts)) or NOT_MEASURED


def _planned_parameter(stages: Sequence[Node], stage: str, parameter: str) -> str:
    """A parameter (``options.temperature``) of the last node of a stage, or of the n-th (``pretrain:1``)."""
    name, _, number = stage.partition(":")
    nodes = [node for node in stages if node.stage == name]
    if not nodes:
        raise unknown("stage of the row", name, dict.fromkeys(node.stage for node in stages))
    if number and not (number.isdecimal() and 1 <= int(number) <= len(nodes)):
        raise UsageError(f"the row has {len(nodes)} of stage {name}, and {number!r} counts none of them")
    params = nodes[int(number) - 1 if number else -1].params
    try:
        return _format(reduce(lambda part, key: part[key], parameter.split("."), params))
    except (KeyError, TypeError):
        raise unknown(f"parameter of {name}", parameter, params) from None


def _format(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tokens(results: StudyResults, row: str) -> str:
    """The tokens of a row's last pre-training: as many as its steps have room for."""
    pretrainings = [node for node in results.stages(row) if node.stage == "pretrain"]
    if not pretrainings:
        raise UsageError(f"{row} has no pre-training")
    params = pretrainings[-1].params
    return f"{params['max_steps'] * params['texts_per_batch'] * params['length'] / 1e6:.1f} million"


def _flops_ratio(results: StudyResults, row: str, base: str) -> str:
    """The multiple that the FLOPs of a row's pre-training are of another's."""
    flops, base_flops = _flops(results, row), _flops(results, base)
    return NOT_MEASURED if flops is None or base_flops is None else f"{flops / base_flops:.1f}"


def _flops(results: StudyResults, place: str) -> float | None:
    results.stages(place)  # a row that there is
    table, _, row = place.partition("/")
    cost = results.costs(table).get(row)
    return cost.flops if cost else None
