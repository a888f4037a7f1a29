"""Descriptions of nodes, and the progress of a run with the time left."""

import contextlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low

from repro.errors import StoreError, first_of
from repro.graph import Node, each_node, grouped, walk
from repro.progress import OverallProgress, Progress, span
from repro.running.cost.work import work
from repro.running.plan import Plan
from repro.running.requirements import Machine
from repro.store import Store

ABOUT = (  # the first of these inputs has a node's collection
    *("qrels", "queries", "texts", "corpus", "tokens", "tokenizer", "training_set", "training_sets"),
    *("run", "runs", "scores", "passages", "index"),
)


def describe(node: Node) -> str:
    return f"{work_of(node)} ({node.fingerprint[:12]})"


def work_of(node: Node) -> str:
    """Describe a node, e.g. "finetune contrastive on tiny/passage/train, 250 steps"."""
    objective = node.params.get("objective", {}).get("name")
    kind = node.params.get("kind")
    words = " ".join(filter(None, (node.stage, objective, kind)))
    if subject := next(iter(collections(node)), node.params.get("name")):
        words += f" {'of' if kind else 'on'} {subject}"
    return ", ".join([words, *_sizes(node)])


def _sizes(node: Node) -> Iterable[str]:
    depth, steps = node.params.get("depth"), node.params.get("max_steps")
    if depth is not None:
        yield f"depth {depth}"
    if steps is not None:
        yield f"{'at most ' if node.params.get('epochs') is not None else ''}{steps} steps"


def collections(node: Node) -> list[str]:
    if "dataset" in node.params:
        return [node.params["dataset"]]
    value = next((node.inputs[name] for name in ABOUT if name in node.inputs), ())
    return list(dict.fromkeys(id for parent in each_node(value) for id in collections(parent)))


@dataclass(frozen=True)
class Place:
    """A row of a table, or an exhibit."""

    table: str
    row: str


def places(plan: Plan) -> dict[str, list[Place]]:
    """Return the rows and exhibits that need each node, by fingerprint."""
    ends: dict[Place, list[Node]] = {}
    for m in plan.measurements:
        place = Place(f"{m.cell.paper.name}/{m.cell.table.id}", m.cell.row.id)
        ends.setdefault(place, []).extend(m.parts)
    for item, node in plan.exhibits.items():
        ends.setdefault(Place(f"{item.paper.name}/{item.owner}", item.exhibit.id), []).append(node)
    return grouped((node.fingerprint, place) for place, nodes in ends.items() for node in walk(nodes))


def describe_rows(places: Sequence[Place]) -> str:
    """Describe rows, e.g. `PAPER/1 bm25 and 3 more`, or ""."""
    return first_of([f"{place.table} {place.row}" for place in places], 1)


class RunProgress:
    """Shows running stages, finished rows (``places``) and the time left.

    Stored nodes of ``known`` provide times. ``apart``: times include the start of a process.
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
        self._done = 0
        self._began: dict[str, tuple[float, str]] = {}
        self._pace = Pace()
        self._pace.learn_stored((n for n in known if n.fingerprint not in self._left), store)
        self._whole = self._overall_progress()
        self._open = Counter(place for fingerprint in self._left for place in places.get(fingerprint, ()))
        self._rows = len(self._open)

    def begins(self, node: Node) -> None:
        piece = self._piece(node)
        self._began[node.fingerprint] = time.monotonic(), piece
        self._progress.begins(piece, self._whole)

    def goes_on(self, node: Node, log: Path) -> None:
        _, piece = self._began[node.fingerprint]
        self._progress.goes_on(piece, log)

    def ends(self, node: Node) -> None:
        start, piece = self._began.pop(node.fingerprint)
        seconds = time.monotonic() - start
        if self._apart:
            self._pace.learn(node, seconds)
        else:  # without one-time imports
            self._pace.learn_stored([node], self._store)
        self._progress.ends(piece, span(seconds), self._without(node))
        for place in self._places.get(node.fingerprint, ()):
            self._open[place] -= 1
            if not self._open[place]:
                done = sum(not stages for stages in self._open.values())
                counts = filter(None, (f"{done} of {self._rows}", self._whole.left))
                self._progress.note(f"{place.table} {place.row}: done ({', '.join(counts)})")

    def fails(self, node: Node, why: object, how: str = "failed") -> None:
        """Show that a node failed, and drop the nodes that need it."""
        _, piece = self._began.pop(node.fingerprint)
        self._left = _unhindered(self._left.values(), {node.fingerprint}) | {node.fingerprint: node}
        self._progress.ends(piece, how, self._without(node), why=str(why))

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
    unhindered, out_of_reach = {}, set(hindered)
    for node in nodes:
        if node.fingerprint in out_of_reach or any(p.fingerprint in out_of_reach for p in node.parents()):
            out_of_reach.add(node.fingerprint)
        else:
            unhindered[node.fingerprint] = node
    return unhindered


@dataclass
class Pace:
    """The seconds of finished nodes, by stage and objective.

    The time of another node is that of the nodes nearest in operations, scaled by the operations.
    """

    _seconds: dict[tuple[str, ...], dict[float, list[float]]] = field(default_factory=dict)
    _operations: dict[str, float] = field(default_factory=dict)

    def learn(self, node: Node, seconds: float) -> None:
        for kind in _kinds(node):
            self._seconds.setdefault(kind, {}).setdefault(self._work(node), []).append(seconds)

    def learn_stored(self, nodes: Iterable[Node], store: Store) -> None:
        for node in nodes:
            with contextlib.suppress(StoreError, KeyError, TypeError, ValueError):
                self.learn(node, float(store.record(node)["facts"]["seconds"]))

    def left(self, nodes: Iterable[Node], *, beside: int = 1) -> tuple[float, bool]:
        """Return the expected seconds for ``nodes``, and whether all their times are known."""
        estimates = [self.expected(node) for node in nodes]
        known = [seconds for seconds in estimates if seconds is not None]
        return max([sum(known) / beside, *known]), len(known) == len(estimates)

    def expected(self, node: Node) -> float | None:
        """Return the expected seconds of a node, or None without a similar finished node."""
        operations = self._work(node)
        for kind in _kinds(node):
            if by_operations := self._seconds.get(kind):
                nearest = min(by_operations, key=lambda n: max(n, operations) / max(1, min(n, operations)))
                seconds = median_low(by_operations[nearest])
                return seconds * operations / nearest if operations and nearest else seconds
        return None

    def _work(self, node: Node) -> float:
        if node.fingerprint not in self._operations:
            self._operations[node.fingerprint] = work(node).operations
        return self._operations[node.fingerprint]


def _kinds(node: Node) -> list[tuple[str, ...]]:
    return [(node.stage, node.params.get("objective", {}).get("name", "")), (node.stage,)]
