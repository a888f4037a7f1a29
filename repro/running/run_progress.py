"""The course of a run: what is said of its nodes as they begin and end, and of the time that is left."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.graph import Node
from repro.progress import OverallProgress, Progress, span
from repro.running.cost.pace import Pace
from repro.running.description import Place, describe, describe_rows
from repro.running.requirements import Machine
from repro.store import Store


class RunProgress:
    """Tells of the nodes to run, by their number among those that can, their rows, seconds and the rest.

    Args:
        nodes: to run, inputs first.
        known: further nodes, stored ones among which say how long their like takes.
        places: fingerprint -> the rows that a node is run for; may be empty.
        beside: nodes that run at once.
        apart: each runs in a process of its own, whose start is part of its time.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        known: Sequence[Node],
        *,
        store: Store,
        machine: Machine,
        progress: Progress,
        places: Mapping[str, Sequence[Place]],
        beside: int = 1,
        apart: bool = False,
    ):
        self._store, self._progress, self._places = store, progress, places
        self._beside, self._apart = beside, apart
        self._left = {node.fingerprint: node for node in _unhindered_nodes(nodes, machine)}
        self._numbers = {fingerprint: number for number, fingerprint in enumerate(self._left, 1)}
        self._began: dict[str, tuple[float, str]] = {}  # fingerprint -> when, and the line that names it
        self._pace = Pace()
        self._pace.learn_stored((n for n in known if n.fingerprint not in self._left), store)
        self._whole = self._overall_progress()

    def begins(self, node: Node) -> None:
        """A node begins."""
        piece = self._piece(node)
        self._began[node.fingerprint] = time.monotonic(), piece
        self._progress.begins(piece, self._whole)

    def goes_on(self, node: Node, log: Path) -> None:
        """A node is under way in a process of its own, whose words are in ``log``."""
        _, piece = self._began[node.fingerprint]
        self._progress.goes_on(piece, log)

    def ends(self, node: Node) -> None:
        """A node is stored."""
        start, piece = self._began.pop(node.fingerprint)
        seconds = time.monotonic() - start
        if self._apart:
            self._pace.learn(node, seconds)
        else:  # what was imported for the first of its kind is not said of the next
            self._pace.learn_stored([node], self._store)
        self._progress.ends(piece, span(seconds), self._without(node))

    def fails(self, node: Node, why: object, how: str = "failed") -> None:
        """A node failed, or turned out to be blocked; so will, unsaid, what needs it."""
        _, piece = self._began.pop(node.fingerprint)
        self._progress.ends(piece, how, self._without(node))
        self._progress.note(f"  {how}: {why}")

    def _piece(self, node: Node) -> str:
        number = f"[{self._numbers.get(node.fingerprint, '?')}/{len(self._numbers)}]"
        rows = describe_rows(self._places.get(node.fingerprint, ()))
        return f"{number} {rows}: {describe(node)}" if rows else f"{number} {describe(node)}"

    def _without(self, node: Node) -> OverallProgress:
        self._left.pop(node.fingerprint, None)
        self._whole = self._overall_progress()
        return self._whole

    def _overall_progress(self) -> OverallProgress:
        total = len(self._numbers)
        seconds = self._pace.left(self._left.values()) if self._left else None
        return OverallProgress(
            total - len(self._left), total, "" if seconds is None else _time_left(seconds / self._beside)
        )


def _time_left(seconds: float) -> str:
    return f"about {span(seconds)} left" if seconds >= 10 else "seconds left"


def _unhindered_nodes(nodes: Sequence[Node], machine: Machine) -> list[Node]:
    """The nodes in whose way nothing is known to stand."""
    blocked_fingerprints: set[str] = set()
    for node in nodes:
        if node.fingerprint in machine.obstacles or any(
            p.fingerprint in blocked_fingerprints for p in node.parents()
        ):
            blocked_fingerprints.add(node.fingerprint)
    return [node for node in nodes if node.fingerprint not in blocked_fingerprints]
