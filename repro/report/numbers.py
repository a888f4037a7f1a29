"""Measured numbers in print's clothes."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from repro.manifest.cells import Cell


def shown(value: float, cell: Cell) -> str:
    """A measured value with as many decimals as print gives the cell, half up; three without print."""
    decimals = cell.printed.decimals if cell.printed.value is not None else 3
    places = Decimal(1).scaleb(-(decimals or 0))
    return str(Decimal(repr(value)).quantize(places, rounding=ROUND_HALF_UP))
