"""Measured numbers in print's clothes."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from repro.manifest.cells import Cell


def shown(value: float, cell: Cell) -> str:
    """A measured value with as many decimals as print gives the cell, rounded half up."""
    places = Decimal(1).scaleb(-(cell.printed.decimals or 0))
    return str(Decimal(repr(value)).quantize(places, rounding=ROUND_HALF_UP))
