"""Gains over baselines and the order of rows, compared with the paper's (Breuer et al., SIGIR 2020)."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import NamedTuple

from repro.graph import grouped
from repro.manifest.cells import Cell
from repro.verdicts.compared import ComparedCell

ROWS = 3
NOT_COMPARED = ("scaled", "not comparable")


@dataclass(frozen=True)
class Effect:
    """The gain of a paper's own row over a baseline that its authors ran, in one column."""

    row: str
    over: str
    column: str
    effect_ratio: float | None
    delta_ri: float | None

    def as_json(self) -> dict:
        return {key: value for key, value in asdict(self).items() if key not in ("row", "column")}


def effect_ratio(printed: tuple[float, float], measured: tuple[float, float]) -> float | None:
    """Return our gain divided by the published one, from pairs (advanced, baseline)."""
    gain = printed[0] - printed[1]
    return (measured[0] - measured[1]) / gain if gain else None


def delta_ri(printed: tuple[float, float], measured: tuple[float, float]) -> float | None:
    """Return published minus our relative improvement, from pairs (advanced, baseline)."""
    if not (printed[1] and measured[1]):
        return None
    return (printed[0] - printed[1]) / printed[1] - (measured[0] - measured[1]) / measured[1]


def order_agreement(printed: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return Kendall's tau-b, or None if it is undefined or there are fewer than ``ROWS`` rows."""
    if len(printed) < ROWS or len(set(printed)) == 1 or len(set(measured)) == 1:
        return None
    pairs = list(combinations(zip(printed, measured, strict=True), 2))
    theirs, ours = ([(a[i] > b[i]) - (a[i] < b[i]) for a, b in pairs] for i in (0, 1))
    agreeing = sum(x * y for x, y in zip(theirs, ours, strict=True))
    return agreeing / math.sqrt(sum(map(abs, theirs)) * sum(map(abs, ours)))


class _Pair(NamedTuple):
    cell: Cell
    published: float
    measured: float


def effects(cells: Sequence[ComparedCell]) -> list[Effect]:
    """Return gains of ``ours`` over ``rerun`` cells of a column and group."""
    pairs = _comparable_pairs(cells)
    return [
        Effect(
            a.cell.row.id,
            b.cell.row.id,
            a.cell.column.id,
            effect_ratio((a.published, b.published), (a.measured, b.measured)),
            delta_ri((a.published, b.published), (a.measured, b.measured)),
        )
        for a, b in product(pairs, pairs)
        if (a.cell.role, b.cell.role) == ("ours", "rerun")
        and (b.cell.column.id, b.cell.row.group) == (a.cell.column.id, a.cell.row.group)
    ]


def orders(cells: Sequence[ComparedCell]) -> dict[str, tuple[float, int]]:
    """Return column -> Kendall's tau-b with the published order, and number of rows."""
    columns = grouped((pair.cell.column.id, pair) for pair in _comparable_pairs(cells))
    agreements = {
        column: (order_agreement([p.published for p in rows], [p.measured for p in rows]), len(rows))
        for column, rows in columns.items()
    }
    return {column: (tau, rows) for column, (tau, rows) in agreements.items() if tau is not None}


def _comparable_pairs(cells: Sequence[ComparedCell]) -> list[_Pair]:
    return [
        _Pair(c.cell, c.published, c.measured)
        for c in cells
        if c.measured is not None and c.published is not None and not c.outdated
        if c.cell.is_numeric and c.verdict.name not in NOT_COMPARED
    ]
