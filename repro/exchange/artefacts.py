"""A plan's artefacts sent to another store, or fetched from one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import DataError, UsageError
from repro.graph import Node, walk
from repro.progress import Progress
from repro.retrieval.datasets.sources import Source
from repro.running import source_rows
from repro.running.plan import Plan
from repro.running.requirements import Obstacle
from repro.store import Store, make_writable
from repro.store.transfer import RemoteStore, pull, push


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


def chosen_nodes(plan: Plan, *, inputs: bool, only: Sequence[str] = ()) -> list[Node]:
    """Return the scores and exhibits of a plan; with ``inputs`` all that they are made from, too.

    Args:
        only: first digits of fingerprints; of scores and all below them, these alone.

    Raises:
        UsageError: digits that begin the fingerprint of none of these, or of several.
    """
    ends = list({node.fingerprint: node for node in plan.ends}.values())
    nodes = walk(ends) if inputs or only else ends
    return [_only_node(digits, nodes) for digits in only] if only else nodes


def _only_node(digits: str, nodes: Sequence[Node]) -> Node:
    """Return the one node whose fingerprint begins with these digits."""
    matches = [node for node in nodes if digits and node.fingerprint.startswith(digits)]
    if len(matches) != 1:
        count = f"{len(matches)} artefacts" if matches else "no artefact"
        raise UsageError(f"the selection has {count} whose fingerprint begins with {digits!r}")
    return matches[0]


def send(
    plan: Plan, nodes: Sequence[Node], store: Store, destination: str, *, progress: Progress
) -> Transfer:
    """Send what is stored of some nodes of a plan."""
    target = RemoteStore(destination)
    return _transfer(plan, nodes, lambda node: push(node, store, target), "sent", progress)


def fetch(plan: Plan, nodes: Sequence[Node], store: Store, source: str, *, progress: Progress) -> Transfer:
    """Fetch what another store has of some nodes of a plan.

    Documents, queries and judgements are read again from their sources, which are here, as fingerprints
    follow from their bytes; all else is noted as unchecked. Raises UsageError for a folder that is not there,
    StoreError for an artefact that is refused.
    """
    origin = RemoteStore(source)
    if origin.is_folder and not Path(origin.root).is_dir():
        raise UsageError(
            f"there is no folder {origin.name!r} to fetch from; give that of a store, or its URL"
        )
    make_writable(store.root)

    def move(node: Node) -> str:
        outcome = pull(
            node,
            store,
            origin,
            waiting=lambda: progress.note(f"  {node}: in use, waiting"),
            check=lambda folder, facts: None if _is_made_again(node, folder, facts) else origin.name,
        )
        if outcome == "fetched":
            store.remember(walk([node]))
        return outcome

    return _transfer(plan, nodes, move, "fetched", progress)


def _is_made_again(node: Node, folder: Path, facts: Mapping[str, Any]) -> bool:
    """Return whether an artefact could be held against its source. Raises DataError where they differ."""
    if not source_rows.is_whole(node):
        return False
    source = Source.from_json(node.params["source"]) if "source" in node.params else None
    if source is not None and source.kind == "library":  # it is not here, and no artefact was made of it
        source = None
    if fault := source_rows.fault(node, folder, facts, source):
        raise DataError(fault)
    return source is not None or source_rows.is_published(node, facts)


def _transfer(
    plan: Plan, nodes: Sequence[Node], move: Callable[[Node], str], outcome: str, progress: Progress
) -> Transfer:
    counts = dict.fromkeys((outcome, "already there", "absent"), 0)
    with progress.task(f"artefacts {outcome}", total=len(nodes)) as advance:
        for node in nodes:
            counts[move(node)] += 1
            advance()
    obstacles = [o for o in plan.machine.obstacles.values() if not o.of_machine] if counts["absent"] else []
    return Transfer(counts, list(dict.fromkeys(obstacles)))
