"""The numbers that judge a claim, e.g. the published ``Decimal("0.187")`` and ours, 0.18741."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.errors import ManifestError
from repro.manifest.cells import Cell
from repro.plugins.statements.claims import HOLDS, MissingNumber, UndecidedOrder, format_value
from repro.running.plan import Plan
from repro.store import Store
from repro.verdicts.compared import ComparedCell, Comparison


class PublishedValues:
    """The paper's numbers as printed (``is_stated``), with its marks in place of tests."""

    is_published = is_stated = True

    def number(self, cell: Cell) -> Decimal:
        """Return the printed number. Raises MissingNumber for a dash or words."""
        if cell.printed.value is None:
            verb = "plots" if cell.table.kind == "figure" else "prints"
            raise MissingNumber(f"the paper {verb} no number in {cell.id}")
        return cell.printed.value

    def shown(self, cell: Cell) -> str:
        return cell.printed.plain

    def check_order(self, one: Cell, other: Cell) -> None:
        """Do nothing. Measured values raise MissingNumber for an undecided order."""

    def p(self, one: Cell, other: Cell) -> None:
        return None

    def why_untested(self, cell: Cell) -> str:
        return f"{cell.paper.name} publishes no scores by query"

    def over_seeds(self, cell: Cell) -> list[float]:
        raise MissingNumber(f"{cell.id} is a single number without a deviation")

    def drawn(self, shown: str, fact: str) -> float:
        raise MissingNumber(f"{shown} is drawn without numbers")


@dataclass(frozen=True)
class MeasuredValues:
    """Our measurements at one scale. ``exhibits`` maps ids of drawings to their facts, and ``doubted``
    collects the kinds of doubts about the numbers that were read.
    """

    comparison: Comparison
    exhibits: Mapping[str, Mapping] = field(default_factory=dict)
    doubted: set[str] = field(default_factory=set, init=False)
    is_published = is_stated = False

    @cached_property
    def _known(self) -> dict[str, ComparedCell]:
        return {c.cell.id: c for c in self.comparison.cells if c.records and not c.outdated}

    def number(self, cell: Cell) -> float:
        """Return the mean over seeds. Raises MissingNumber without a current measurement."""
        known = self._known.get(cell.id)
        if known is None or known.measured is None:
            raise MissingNumber(f"{cell.id} is not measured")
        self.doubted.update(doubt.kind for doubt in known.doubts)
        return known.measured

    def shown(self, cell: Cell) -> str:
        """Return the mean, in brackets if it is doubtful, e.g. "(0.187)"."""
        value = format_value(self.number(cell))
        return f"({value})" if self._known[cell.id].doubts else value

    def check_order(self, one: Cell, other: Cell) -> None:
        """Raise UndecidedOrder if the stored interval of the difference contains 0."""
        low, high = self._between(one, other, "interval") or (0, 0)
        if low <= 0 <= high and low < high:
            difference = f"{one.table.id}/{one.row.id} minus {other.row.id} in {one.column.id}"
            raise UndecidedOrder(f"{difference} is between {low:+.4f} and {high:+.4f}")

    def p(self, one: Cell, other: Cell) -> float | None:
        return self._between(one, other, "p")

    def _between(self, one: Cell, other: Cell, name: str) -> Any:
        if (one.table.id, one.column.id, one.paper) != (other.table.id, other.column.id, other.paper):
            return None
        key = one.paper.name, one.table.id, one.column.dataset or ""
        test = self.comparison.tests.get(key, {}).get("measures", {}).get(one.column.measure)
        names = test["names"] if test and name in test else []
        if not {one.row.id, other.row.id} <= set(names):
            return None
        return test[name][names.index(one.row.id)][names.index(other.row.id)]

    def why_untested(self, cell: Cell) -> str:
        return f"no test between its rows is stored (run `repro compare {cell.paper.name}`)"

    def over_seeds(self, cell: Cell) -> list[float]:
        """Return one value per seed. Raises MissingNumber for fewer than two."""
        records = self._known[cell.id].records if cell.id in self._known else ()
        if len(records) < 2:
            raise MissingNumber(f"{cell.id} needs two seeds (run `repro run {cell.id} --seeds 1,2,3`)")
        return [r.measured for r in records]

    def drawn(self, shown: str, fact: str) -> float:
        value = self.exhibits.get(shown, {}).get(fact)
        if value is None:
            raise MissingNumber(f"{shown} has no {fact} yet")
        return float(value)

    def is_incomparable(self, cell: Cell) -> bool:
        """Return whether the measurement is of another experiment, e.g. on substitute data."""
        return cell.id in self._known and self._known[cell.id].verdict.name == "not comparable"


Values = PublishedValues | MeasuredValues


def facts_of_exhibits(plan: Plan, store: Store) -> dict[str, Mapping]:
    return {
        exhibit.id: store.record(node)["facts"] | _relevant_passages(store.path(node) / "exhibit.json")
        for exhibit, node in plan.exhibits.items()
        if plan.states[node.fingerprint] == "stored"
    }


def _relevant_passages(path: Path) -> dict[str, int]:
    shown = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if shown.get("kind") != "passages" or not all(q["found"] for q in shown["queries"]):
        return {}
    first = [p for q in shown["queries"] for p in q["passages"] if p["rank"] == 1]
    return {"relevant": sum((p["grade"] or 0) > 0 for p in first)}


class ChangedValues(PublishedValues):
    """The published numbers, with ``changes`` (cell id -> number) in place of some."""

    def __init__(self, changes: Mapping[str, Decimal]):
        self.changes = changes

    def number(self, cell: Cell) -> Decimal:
        return self.changes[cell.id] if cell.id in self.changes else super().number(cell)

    def shown(self, cell: Cell) -> str:
        return str(self.changes.get(cell.id, cell.printed.plain))


def can_fail(state_of: Callable[[PublishedValues], str], cells: tuple[Cell, ...]) -> bool:
    """Return whether ``changed`` numbers in these cells refute a statement that ``state_of`` judges. None can
    refute ``relevant("9", "bert") == 0``, which counts ticks.
    """
    numbers = {c.id: c.number for c in cells if c.is_numeric}
    return any(_is_refuted(state_of, changes) for changes in changed(numbers))


def changed(numbers: Mapping[str, Decimal]) -> Iterator[dict[str, Decimal]]:
    """Yield changed copies of the numbers: all or one scaled, in rising or falling order, or shuffled."""
    for factor in (Decimal(-1), Decimal(1000), Decimal("0.001")):
        yield {name: factor * number for name, number in numbers.items()}
        yield from ({name: factor * number + factor} for name, number in numbers.items())
    yield {name: Decimal(place) for place, name in enumerate(numbers, start=1)}
    yield {name: Decimal(-place) for place, name in enumerate(numbers, start=1)}
    drawn, values = random.Random(0), list(numbers.values())
    for _ in range(8):
        drawn.shuffle(values)
        yield dict(zip(numbers, values, strict=True))


def _is_refuted(state_of: Callable[[PublishedValues], str], changes: Mapping[str, Decimal]) -> bool:
    try:
        return state_of(ChangedValues(changes)) != HOLDS
    except ManifestError:  # e.g. a division by 0
        return False
