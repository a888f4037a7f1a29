"""A statement over several measures, judged by each of them."""

from dataclasses import dataclass, field

from repro.errors import UsageError
from repro.manifest.cells import Cell
from repro.plugins.statements.claim_expressions import (
    Evaluation,
    MissingNumber,
    conjuncts,
    is_relation_of_rows,
)

HOLDS, FAILS, UNTESTED = "holds", "fails", "untested"
_WORST_FIRST = (FAILS, UNTESTED, HOLDS)


@dataclass
class Outcomes:
    """The outcomes of one statement, column by column.

    Attributes:
        pairs: (cell whose column it is, state) for every pair of cells that a relation compared.
        used: cells whose numbers were taken, in order.
    """

    pairs: list[tuple[Cell, str]] = field(default_factory=list)
    used: list[Cell] = field(default_factory=list)


def by_measure(states: list[tuple[Cell, str]]) -> tuple[tuple[str, str], ...]:
    """(table/column, the worst state in it) for each column, none where there is only one."""
    columns: dict[str, list[str]] = {}
    for cell, state in states:
        columns.setdefault(f"{cell.table.id}/{cell.column.id}", []).append(state)
    if len(columns) < 2:
        return ()
    return tuple(
        (name, min(column_states, key=_WORST_FIRST.index)) for name, column_states in columns.items()
    )


def all_hold(expect: str, evaluation: Evaluation, seen: Outcomes) -> bool:
    """Whether every part of an expression joined by ``and`` holds; each is asked, whatever the others say.

    In ``seen.pairs`` stay the pairs of parts that are one relation between rows, and a state for every other
    part that uses one column only: in ``a or b`` a pair that fails contradicts nothing.

    Raises MissingNumber where what is missing decides.
    """
    missing, holds, pairs = None, True, []
    for part in conjuncts(expect):
        seen.pairs.clear()
        start = len(seen.used)
        try:
            value = _truth(evaluation.of(part), part)
            state = HOLDS if value else FAILS
            holds &= value
        except MissingNumber as reason:
            state, missing = UNTESTED, missing or reason
        pairs += _states(part, state, seen.pairs, seen.used[start:])
    seen.pairs[:] = pairs
    if holds and missing:
        raise missing
    return holds


def _truth(value, part: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{part!r} is {value!r}, which neither holds nor fails")
    return value


def _states(part: str, state: str, pairs: list, cells: list[Cell]) -> list[tuple[Cell, str]]:
    if pairs and is_relation_of_rows(part):
        return list(pairs)
    columns = {(c.table.id, c.column.id): c for c in cells}
    return [(c, state) for c in columns.values()] if len(columns) == 1 else []
