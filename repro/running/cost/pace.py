"""The time that nodes will take, from that of nodes like them: in this run, or when they were stored."""

import bisect
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from repro.errors import StoreError
from repro.graph import Node
from repro.running.cost.work import work
from repro.stage_table import STAGES
from repro.store import Store

Kind = tuple[str, ...]
HEAVY: Kind = ("heavy",)
LIGHT: Kind = ("light",)


@dataclass
class Pace:
    """Seconds of nodes that are done, by what they were.

    A node is expected to take what those of its stage and objective took, else those of its stage; where
    operations can be counted, in proportion to them. A heavy stage of which none is done goes by the
    operations a second of other heavy ones, a light one by the seconds of light ones. Of several the median
    counts, the lower of two: the first of a kind also loads libraries.
    """

    _seconds: dict[Kind, list[float]] = field(default_factory=dict)
    _by_operation: dict[Kind, list[float]] = field(default_factory=dict)
    _operations: dict[str, float] = field(default_factory=dict)

    def learn(self, node: Node, seconds: float) -> None:
        """Take note of the seconds of a node that is done."""
        for kind in _kinds(node):
            bisect.insort(self._seconds.setdefault(kind, []), seconds)
            if operations := self._work(node):
                bisect.insort(self._by_operation.setdefault(kind, []), seconds / operations)

    def learn_stored(self, nodes: Iterable[Node], store: Store) -> None:
        """Take note of what records of stored artefacts say."""
        for node in nodes:
            with contextlib.suppress(StoreError, KeyError, TypeError, ValueError):
                self.learn(node, float(store.record(node)["facts"]["seconds"]))

    def left(self, nodes: Iterable[Node]) -> float | None:
        """Seconds that all these nodes will take one after another; None where one of them cannot be told."""
        estimates = [self.expected(node) for node in nodes]
        return None if None in estimates else sum(estimates)

    def expected(self, node: Node) -> float | None:
        """Seconds that a node will take; None where nothing done is like it."""
        operations = self._work(node)
        for kind in _kinds(node):
            if operations and kind in self._by_operation:
                return operations * _median(self._by_operation[kind])
            if kind in self._seconds and kind != HEAVY:
                return _median(self._seconds[kind])
        return None

    def _work(self, node: Node) -> float:
        if node.fingerprint not in self._operations:
            self._operations[node.fingerprint] = work(node).operations
        return self._operations[node.fingerprint]


def _median(values: list[float]) -> float:
    return values[(len(values) - 1) // 2]


def _kinds(node: Node) -> list[Kind]:
    """The keys under which paces of a node may be known, the closest first."""
    objective = node.params.get("objective", {}).get("name", "")
    return [(node.stage, objective), (node.stage,), HEAVY if STAGES[node.stage].heavy else LIGHT]
