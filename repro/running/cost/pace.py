"""The time that nodes will take, from that of nodes like them: in this run, or when they were stored."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median_low

from repro.errors import StoreError
from repro.graph import Node
from repro.running.cost.work import work
from repro.store import Store


@dataclass
class Pace:
    """Seconds of nodes that are done, by their stage and objective.

    A node is expected to take what those of its stage and objective took, else those of its stage: of them
    the nearest in operations, where these can be counted in proportion to them. Of several as near the median
    counts, the lower of two: the first of a kind also loads libraries. Other stages tell nothing of it.
    """

    _seconds: dict[tuple[str, ...], dict[float, list[float]]] = field(default_factory=dict)
    _operations: dict[str, float] = field(default_factory=dict)

    def learn(self, node: Node, seconds: float) -> None:
        """Take note of the seconds of a node that is done."""
        for kind in _kinds(node):
            self._seconds.setdefault(kind, {}).setdefault(self._work(node), []).append(seconds)

    def learn_stored(self, nodes: Iterable[Node], store: Store) -> None:
        """Take note of what records of stored artefacts say."""
        for node in nodes:
            with contextlib.suppress(StoreError, KeyError, TypeError, ValueError):
                self.learn(node, float(store.record(node)["facts"]["seconds"]))

    def left(self, nodes: Iterable[Node], *, beside: int = 1) -> tuple[float, bool]:
        """Return the seconds that nodes take, so many at once, and whether that is of all of them."""
        estimates = [self.expected(node) for node in nodes]
        known = [seconds for seconds in estimates if seconds is not None]
        return max([sum(known) / beside, *known]), len(known) == len(estimates)

    def expected(self, node: Node) -> float | None:
        """Seconds that a node will take; None where nothing done is like it."""
        operations = self._work(node)
        for kind in _kinds(node):
            if by_operations := self._seconds.get(kind):
                nearest = min(by_operations, key=lambda other: _ratio(other, operations))
                seconds = median_low(by_operations[nearest])
                return seconds * operations / nearest if operations and nearest else seconds
        return None

    def _work(self, node: Node) -> float:
        if node.fingerprint not in self._operations:
            self._operations[node.fingerprint] = work(node).operations
        return self._operations[node.fingerprint]


def _ratio(one: float, other: float) -> float:
    return max(one, other) / max(1, min(one, other))


def _kinds(node: Node) -> list[tuple[str, ...]]:
    """The keys under which paces of a node may be known, the closest first."""
    return [(node.stage, node.params.get("objective", {}).get("name", "")), (node.stage,)]
