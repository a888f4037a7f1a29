"""A plan's artefacts sent to another store, or fetched from one."""

from collections.abc import Callable
from dataclasses import dataclass

from repro.graph import Node, walk
from repro.progress import Progress
from repro.running.plan import Plan
from repro.running.requirements import Obstacle
from repro.store import Store, make_writable
from repro.store.remote import RemoteStore
from repro.store.transfer import pull, push


@dataclass(frozen=True)
class Transfer:
    """The outcome of a transfer.

    Attributes:
        counts: how many artefacts were moved, already there, or absent.
        obstacles: data and checkpoints that are missing here, where artefacts are absent: fingerprints follow
            from them, so that what is absent may be there under others.
    """

    counts: dict[str, int]
    obstacles: list[Obstacle]

    @property
    def is_empty(self) -> bool:
        """Whether everything that was asked for is absent."""
        return 0 < self.counts["absent"] == sum(self.counts.values())


def send(plan: Plan, store: Store, destination: str, *, inputs: bool, progress: Progress) -> Transfer:
    """Send the stored scores and exhibits of a plan; with ``inputs`` all that they were made from, too."""
    target = RemoteStore(destination)
    return _moved(plan, lambda node: push(node, store, target), "sent", inputs=inputs, progress=progress)


def fetch(plan: Plan, store: Store, source: str, *, inputs: bool, progress: Progress) -> Transfer:
    """Fetch the scores and exhibits of a plan; with ``inputs`` all that they were made from, too."""
    origin = RemoteStore(source)
    make_writable(store.root)

    def move(node: Node) -> str:
        outcome = pull(node, store, origin, waiting=lambda: progress.note(f"  {node}: in use, waiting"))
        if outcome == "fetched":
            store.remember(walk([node]))
        return outcome

    return _moved(plan, move, "fetched", inputs=inputs, progress=progress)


def _moved(
    plan: Plan, move: Callable[[Node], str], outcome: str, *, inputs: bool, progress: Progress
) -> Transfer:
    ends = list({node.fingerprint: node for node in plan.ends}.values())
    nodes = walk(ends) if inputs else ends
    counts = dict.fromkeys((outcome, "already there", "absent"), 0)
    with progress.task(f"artefacts {outcome}", total=len(nodes)) as advance:
        for node in nodes:
            counts[move(node)] += 1
            advance()
    missing = [o for o in plan.machine.obstacles.values() if not o.of_machine] if counts["absent"] else []
    return Transfer(counts, list(dict.fromkeys(missing)))
