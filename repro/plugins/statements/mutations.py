"""Statements that cannot fail. For example, ``relevant("9", "bert") == 0`` counts the ticks of a table of
examples. They are the paper's own judgements, so no change of a number can refute it."""

import random
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from repro.errors import ManifestError
from repro.manifest.cells import Cell
from repro.plugins.statements.claim_values import PublishedValues
from repro.plugins.statements.claims import HOLDS

FACTORS = (Decimal(-1), Decimal(1000), Decimal("0.001"))
SHUFFLES = 8


class ChangedValues(PublishedValues):
    """The published numbers except for ``changes`` by id of cell."""

    def __init__(self, changes: Mapping[str, Decimal]):
        self.changes = changes

    def number(self, cell: Cell) -> Decimal:
        """Return the changed or printed number. Raises MissingNumber for a dash or words."""
        return self.changes[cell.id] if cell.id in self.changes else super().number(cell)

    def told(self, cell: Cell) -> str:
        """Return the number in words."""
        return str(self.changes.get(cell.id, cell.printed.plain))


def can_fail(state_of: Callable[[PublishedValues], str], cells: tuple[Cell, ...]) -> bool:
    """Return whether a statement that holds loses that state by any change of these cells' numbers."""
    numbers = {cell.id: cell.number for cell in cells if cell.is_numeric}
    return any(_is_refuted(state_of, changes) for changes in changed(numbers))


def changed(numbers: Mapping[str, Decimal]) -> Iterator[dict[str, Decimal]]:
    """Yield changes of the numbers: one, all, in rising and falling order, and exchanged."""
    for factor in FACTORS:
        yield {name: factor * number for name, number in numbers.items()}
        yield from ({name: factor * number + factor} for name, number in numbers.items())
    yield {name: Decimal(place) for place, name in enumerate(numbers, start=1)}
    yield {name: Decimal(-place) for place, name in enumerate(numbers, start=1)}
    drawn, values = random.Random(0), list(numbers.values())
    for _ in range(SHUFFLES):
        drawn.shuffle(values)
        yield dict(zip(numbers, values, strict=True))


def _is_refuted(state_of: Callable[[PublishedValues], str], changes: Mapping[str, Decimal]) -> bool:
    try:
        return state_of(ChangedValues(changes)) != HOLDS
    except ManifestError:  # not computable with these numbers, e.g. a division by 0
        return False
