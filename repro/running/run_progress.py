"""The course of a run: what is said of its nodes as they begin and end, and of the time that is left."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from repro.graph import Node
from repro.progress import OverallProgress, Progress, span
from repro.running.cost.pace import Pace
from repro.running.description import Place, describe, describe_rows
from repro.running.requirements import Machine
from repro.store import Store


class RunProgress:
    """Tells of the nodes to run, of their rows and seconds, how many are done, and of the rest.

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
        self._left = _unhindered(nodes, machine.obstacles)
        self._done = 0  # and failed ones
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
        self._left = _unhindered(self._left.values(), {node.fingerprint}) | {node.fingerprint: node}
        self._progress.ends(piece, how, self._without(node))
        self._progress.note(f"  {how}: {why}")

    def _piece(self, node: Node) -> str:
        rows = describe_rows(self._places.get(node.fingerprint, ()))
        return f"{rows}: {describe(node)}" if rows else describe(node)

    def _without(self, node: Node) -> OverallProgress:
        self._done += self._left.pop(node.fingerprint, None) is not None
        self._whole = self._overall_progress()
        return self._whole

    def _overall_progress(self) -> OverallProgress:
        words = _time_left(*self._pace.left(self._left.values(), beside=self._beside)) if self._left else ""
        return OverallProgress(self._done, self._done + len(self._left), words)


def _time_left(seconds: float, of_all: bool) -> str:
    if seconds < 10:
        return "seconds left" if of_all else ""
    return f"{'about' if of_all else 'more than'} {span(seconds)} left"


def _unhindered(nodes: Iterable[Node], hindered: Collection[str]) -> dict[str, Node]:
    """Return the nodes, inputs first as they came, that neither are hindered nor need one that is."""
    unhindered, out_of_reach = {}, set(hindered)
    for node in nodes:
        if node.fingerprint in out_of_reach or any(p.fingerprint in out_of_reach for p in node.parents()):
            out_of_reach.add(node.fingerprint)
        else:
            unhindered[node.fingerprint] = node
    return unhindered
